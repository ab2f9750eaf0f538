
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0006_accounts'),
    ]

    operations = [
        migrations.AddField(
            model_name='visit',
            name='submit_to',
            field=models.CharField(blank=True, db_default='', help_text='The server that takes the code.', max_length=100),
        ),
    ]
