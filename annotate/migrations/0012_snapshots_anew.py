"""Snapshots are taken anew: those of before lack what the outlook is made of."""

from django.db import migrations


def forget(apps, schema_editor):
    apps.get_model("annotate", "Snapshot").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("annotate", "0011_orders_without_joins")]

    operations = [migrations.RunPython(forget, migrations.RunPython.noop)]
