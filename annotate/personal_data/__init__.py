"""Personal data: inventory, export, erasure and withdrawal of consent."""
