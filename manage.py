#!/usr/bin/env python
"""Run Plumbline's commands from its folder: `python manage.py help` lists them."""

import sys

from plumbline.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
