#!/usr/bin/env bash
# Installs symseek into the environment of environment.yml: from SYMSEEK_SOURCE, which is a clone or
# an archive of it, or from the clone that this folder is in. A C++20 compiler builds the core.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python -m pip install "${SYMSEEK_SOURCE:-$here/../..}"
python -c "import symseek; print('symseek', symseek.__version__)"
