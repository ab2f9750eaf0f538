"""Who judges what: balanced designs, free slots dealt anew, and which slot is next."""
