from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0012_annotator_completed_at'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='report',
            name='report_state_known',
        ),
        migrations.AlterField(
            model_name='report',
            name='state',
            field=models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='queued', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['queued', 'running', 'done', 'failed', 'cancelled'])), name='report_state_known'),
        ),
    ]
