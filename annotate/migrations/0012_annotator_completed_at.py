from typing import Any

from django.db import migrations, models


def take_over(apps: Any, schema_editor: Any) -> None:
    """Keep the completion codes of people who have finished: they were shown them."""
    annotators = apps.get_model('annotate', 'Annotator').objects.filter(finished_at__isnull=False)
    annotators.update(completed_at=models.F('finished_at'))


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0011_comment_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='annotator',
            name='completed_at',
            field=models.DateTimeField(blank=True, help_text='When the completion code was earned.', null=True),
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop),
    ]
