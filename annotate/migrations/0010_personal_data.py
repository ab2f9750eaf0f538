import annotate.models.people
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0009_example_shots'),
    ]

    operations = [
        migrations.AddField(
            model_name='annotator',
            name='answers_withdrawn',
            field=models.BooleanField(db_default=False, default=False, help_text='Their answers are to be in no analysis.'),
        ),
        migrations.AddField(
            model_name='annotator',
            name='erased_at',
            field=models.DateTimeField(blank=True, help_text="When the person's data were erased.", null=True),
        ),
        migrations.AddField(
            model_name='annotator',
            name='withdrawn_at',
            field=models.DateTimeField(blank=True, help_text='When the consent was withdrawn.', null=True),
        ),
        migrations.AlterField(
            model_name='annotator',
            name='completion_code',
            field=models.CharField(blank=True, default=annotate.models.people.new_completion_code, max_length=12),
        ),
        migrations.AlterField(
            model_name='event',
            name='kind',
            field=models.CharField(choices=[('study planned', 'study planned'), ('study extended', 'study extended'), ('study edited', 'study edited'), ('study launched', 'study launched'), ('study paused', 'study paused'), ('study closed', 'study closed'), ('answers imported', 'answers imported'), ('annotator invited', 'annotator invited'), ('annotator added', 'annotator added'), ('annotator joined', 'annotator joined'), ('annotator paused', 'annotator paused'), ('annotator resumed', 'annotator resumed'), ('annotator not admitted', 'annotator not admitted'), ('training passed', 'training passed'), ('second link opened', 'second link opened'), ('flag raised', 'flag raised'), ('flag resolved', 'flag resolved'), ('join link made', 'join link made'), ('join link closed', 'join link closed'), ('stop rule met', 'stop rule met'), ('report asked for', 'report asked for'), ('annotator revoked', 'annotator revoked'), ('annotator finished', 'annotator finished'), ('link replaced', 'link replaced'), ('consent withdrawn', 'consent withdrawn'), ('personal data erased', 'personal data erased'), ('consent given', 'consent given'), ('slots listed', 'slots listed'), ('slots assigned', 'slots assigned'), ('slot taken', 'slot taken'), ('lease expired', 'lease expired'), ('slot skipped', 'slot skipped'), ('slot freed', 'slot freed'), ('slot opened', 'slot opened'), ('slot withdrawn', 'slot withdrawn'), ('slot surplus', 'slot made surplus'), ('late answer kept', 'late answer kept'), ('slot submitted', 'slot submitted'), ('slot excluded', 'slot excluded'), ('exclusion undone', 'exclusion undone')], max_length=40),
        ),
        migrations.AddConstraint(
            model_name='annotator',
            constraint=models.CheckConstraint(condition=models.Q(('erased_at__isnull', True), models.Q(('completion_code', ''), ('external_id', '')), _connector='OR'), name='annotator_erased_is_nobody'),
        ),
        migrations.AddConstraint(
            model_name='annotator',
            constraint=models.CheckConstraint(condition=models.Q(('answers_withdrawn', False), ('withdrawn_at__isnull', False), _connector='OR'), name='annotator_withdrew_answers_and_consent'),
        ),
    ]
