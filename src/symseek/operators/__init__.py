"""The operators: what is known of one, and the table of them."""
