import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotate", "0011_mark"),
    ]

    operations = [
        migrations.AddField(
            model_name="study",
            name="continues",
            field=models.ForeignKey(
                blank=True,
                help_text="The closed study on whose scale a late method is placed.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="follow_ups",
                to="annotate.study",
            ),
        ),
    ]
