"""The table of people: status, work, verdict and pay; costs; files for platforms."""
