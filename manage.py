#!/usr/bin/env python
"""Run Plumbline's management commands: `python manage.py help` lists them."""

import os
import signal
import sys


def main() -> None:
    """Hand the command line to Django; settings and database fail in one sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError, InterfaceError
    from django.db.migrations.exceptions import NodeNotFoundError

    try:
        _ = settings.PORT  # reads the settings: commands are known only with them
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"plumbline: {error}")
    except BrokenPipeError:
        # The reader, such as head, has seen enough; so has the last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except (DatabaseError, InterfaceError, NodeNotFoundError) as error:
        from evalcore.management import why_unprepared

        reason = why_unprepared(error, *sys.argv[1:2])
        if reason is None:
            raise
        sys.exit(f"plumbline: {reason}")


if __name__ == "__main__":
    main()
