"""Pages of researchers: scores, outputs, reports, downloads."""
