"""Files in and out: tables read with care, results written whole or not at all."""
