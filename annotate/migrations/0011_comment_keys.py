from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0010_personal_data'),
    ]

    operations = [
        migrations.AddField(
            model_name='shotcomment',
            name='client_key',
            field=models.CharField(blank=True, db_default='', default='', help_text='The key press that it came of.', max_length=40),
        ),
        migrations.AddField(
            model_name='storycomment',
            name='client_key',
            field=models.CharField(blank=True, db_default='', default='', help_text='The key press that it came of.', max_length=40),
        ),
    ]
