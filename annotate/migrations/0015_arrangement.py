from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0014_exports")]

    operations = [
        migrations.AddField(
            model_name="unit",
            name="arrangement",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Order of three or more outputs before a slot turns it, by "
                "their letters; empty: drawn from their ids.",
                max_length=5,
            ),
        ),
    ]
