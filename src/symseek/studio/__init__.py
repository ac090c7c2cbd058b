"""The studio: a local page in the browser that starts, shows and steers searches."""
