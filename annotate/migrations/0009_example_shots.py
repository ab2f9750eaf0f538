"""Each shot of an example says which shot its picture was made for; till now its own."""

from typing import Any

from django.db import migrations, models


def say_their_own(apps: Any, _editor: Any) -> None:
    Question = apps.get_model('annotate', 'Question')
    for question in Question.objects.exclude(example=None):
        question.example_shots = [[*shot[:2], *(shot[2:] or shot[:1])] for shot in question.example_shots]
        question.save(update_fields=['example_shots'])


def forget(apps: Any, _editor: Any) -> None:
    Question = apps.get_model('annotate', 'Question')
    for question in Question.objects.exclude(example=None):
        question.example_shots = [shot[:2] for shot in question.example_shots]
        question.save(update_fields=['example_shots'])


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0008_story_comments'),
    ]

    operations = [
        migrations.AlterField(
            model_name='question',
            name='example_shots',
            field=models.JSONField(blank=True, default=list, help_text='Which shots of it are shown, whether they differ, and which shot their picture was made for: [[1, true, 2]].'),
        ),
        migrations.RunPython(say_their_own, forget),
    ]
