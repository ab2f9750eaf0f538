from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('evalcore', '0004_videos'),
    ]

    operations = [
        migrations.AddField(
            model_name='story',
            name='extra',
            field=models.JSONField(blank=True, default=dict, help_text="What the benchmark's file says beyond shots and characters; metrics and exports read it."),
        ),
    ]
