from typing import Any

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


def give_to_writers(apps: Any, _editor: Any) -> None:
    """Make each slot's comment a row of whoever took the slot last.

    That is its annotator, if they began it; they may have lost it since.
    """
    Slot = apps.get_model('annotate', 'Slot')
    Event = apps.get_model('annotate', 'Event')
    StoryComment = apps.get_model('annotate', 'StoryComment')
    rows = []
    for slot in Slot.objects.exclude(comment='').order_by('pk'):
        begun = Event.objects.filter(slot=slot, kind__in=['slot taken', 'late answer kept'])
        last = begun.order_by('-pk').first()
        writer, since = (last.annotator_id, last.at) if last else (slot.annotator_id, slot.started_at)
        at = slot.submitted_at or since or django.utils.timezone.now()
        rows.append(StoryComment(slot=slot, annotator_id=writer, text=slot.comment, written_at=at))
    StoryComment.objects.bulk_create(rows, batch_size=500)


def give_to_slots(apps: Any, _editor: Any) -> None:
    """Put what those wrote who hold the slots back where there is room for it."""
    StoryComment = apps.get_model('annotate', 'StoryComment')
    written = StoryComment.objects.filter(annotator=models.F('slot__annotator'))
    for row in written.select_related('slot'):
        row.slot.comment = row.text
        row.slot.save(update_fields=['comment'])


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0007_shot_comments'),
    ]

    operations = [
        migrations.CreateModel(
            name='StoryComment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('written_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('annotator', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='story_comments', to='annotate.annotator')),
                ('slot', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='story_comments', to='annotate.slot')),
            ],
            options={
                'ordering': ['slot', 'annotator'],
                'constraints': [models.UniqueConstraint(fields=('slot', 'annotator'), name='story_comment_once_per_slot'), models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='story_comment_says_something')],
            },
        ),
        migrations.RunPython(give_to_writers, give_to_slots),
        migrations.RemoveField(
            model_name='slot',
            name='comment',
        ),
    ]
