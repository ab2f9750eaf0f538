import csv
import io

import openpyxl
import pandas as pd
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotate.audit_log.verifying import problems
from annotate.coverage.counts import units
from annotate.models import Choice, Ranking, Rating, Slot, Study
from annotate.personal_data import record
from annotate.reports import study_tables
from evalcore.models import Benchmark
from tests.factories import make_benchmark
from tests.people import alice

pytestmark = pytest.mark.django_db

RATINGS = """story,method,dimension,annotator,rating,seconds
01,Alder,character,R1,4,12
01,Alder,beauty,R1,2,12
01,Alder,character,R2,3,
01,Birch,character,R1,0,
"""
CHOICES = """story,method_a,method_b,criterion,annotator,choice,left_method
01,Birch,Alder,quality,R1,a,Birch
01,Alder,Birch,quality,R2,tie,
"""


@pytest.fixture(autouse=True)
def benchmark():
    return make_benchmark(pictures=False)


def load(tmp_path, text, table="ratings", **options):
    path = tmp_path / f"{table}.csv"
    path.write_text(text)
    given = {"benchmark": "woods", "study": "past", table: path} | options
    call_command("import_judgements", **given)


def test_ratings_become_closed_study(tmp_path, capsys):
    load(tmp_path, RATINGS)
    assert "Imported 4 answers." in capsys.readouterr().out
    study = Study.objects.get()
    assert study.state == Study.State.CLOSED
    assert study.redundancy == 2
    first = Slot.objects.get(annotator__name="R1", unit__output_a__method__name="Alder")
    assert first.ratings.count() == 2
    assert first.seconds == 12
    assert problems(study) == []


def test_workbook_and_semicolons_are_accepted(tmp_path, capsys):
    path = tmp_path / "r.csv"
    path.write_text(RATINGS.replace(",", ";"), encoding="utf-16")
    call_command("import_judgements", benchmark="woods", study="past", ratings=path)
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(RATINGS)):
        book.active.append(row)
    book.active.title = "People"
    book.save(tmp_path / "r.xlsx")
    path = tmp_path / "r.xlsx#People"
    call_command("import_judgements", benchmark="woods", study="past", ratings=path)
    output = capsys.readouterr().out
    assert "Imported 4 answers." in output
    assert "Nothing new: all 4 answers" in output


def test_second_run_changes_nothing_and_refuses_other_answers(tmp_path, capsys):
    load(tmp_path, RATINGS)
    load(tmp_path, RATINGS)
    assert "Nothing new: all 4 answers" in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"ratings.csv:2: .* into a new study"):
        load(tmp_path, RATINGS.replace("R1,4", "R1,1"))
    assert Rating.objects.count() == 4


def test_choices_are_stored_in_alphabetical_order(tmp_path):
    load(tmp_path, CHOICES, "choices")
    r1 = Choice.objects.get(annotator__name="R1")
    assert r1.slot.unit.output_a.method.name == "Alder"
    assert r1.value == "b"  # Birch, which the file calls a
    assert not r1.a_is_left
    assert Study.objects.get().questions.first().kind == "choice"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "01,Alder,character,R3,5,",
            "ratings.csv:6: rating: 5: expected a value from 0 to 4",
        ),
        (
            "01,Alder,character,R3,2.5,",
            "ratings.csv:6: rating: 2.5: expected a whole number",
        ),
        ("01,Alder,character,R1,4,", "ratings.csv:6: .*line 2 has the same"),
        (
            "09,Alder,character,R1,4,",
            "ratings.csv:6: story: 09: expected a story of woods",
        ),
        (
            ",Alder,character,R1,4,",
            "ratings.csv:6: story: expected a story; analyse means",
        ),
        (
            "01,Alder,character,R1",
            "ratings.csv:6: expected 6 columns as in the header, not 4",
        ),
    ],
)
def test_errors_name_the_line_and_nothing_is_stored(tmp_path, row, message):
    with pytest.raises(CommandError, match=message) as caught:
        load(tmp_path, RATINGS + row + "\n")
    assert caught.value.returncode == 2
    assert not Study.objects.exists()
    assert not Rating.objects.exists()


def test_missing_stories_and_methods_are_created_with_option(tmp_path):
    load(tmp_path, RATINGS.replace("01,", "new,"), benchmark="fresh", create=True)
    assert Study.objects.get().benchmark.slug == "fresh"
    assert Rating.objects.count() == 4


RANKINGS = """story,method,criterion,annotator,rank,place
01,Alder,quality,R1,1,2
01,Birch,quality,R1,4,1
01,Cedar,quality,R1,4,3
01,Alder,realism,R1,2,2
01,Birch,realism,R1,1,1
01,Cedar,realism,R1,3,3
01,Birch,quality,R2,2,
01,Alder,quality,R2,1,
"""


def test_rankings_keep_ties_and_close_gaps(tmp_path, capsys):
    options = {"table": "rankings", "benchmark": "fresh", "create": True}
    load(tmp_path, RANKINGS, **options)
    load(tmp_path, RANKINGS, **options)
    out, notes = capsys.readouterr()
    assert "Imported 3 answers." in out
    assert "Nothing new: all 3 answers" in out
    assert "columns not stored: place" in notes
    study = Study.objects.get()
    assert problems(study) == []
    frame = study_tables.answers_frame(study, "rankings")
    given = frame.groupby(["annotator", "criterion"])
    ranks = {key: dict(own[["method", "rank"]].to_numpy()) for key, own in given}
    assert ranks == {
        ("R1", "quality"): {"Alder": 1, "Birch": 2, "Cedar": 2},
        ("R1", "realism"): {"Birch": 1, "Alder": 2, "Cedar": 3},
        ("R2", "quality"): {"Alder": 1, "Birch": 2},
    }
    assert set(frame["place"]) == {""}
    pair = ("Alder", "Birch")
    assert [unit.methods for unit in units(study)] == [pair, (*pair, "Cedar")]
    address = reverse("slot-detail", args=[study.slug, study.slots.first().code])
    assert "shown as" not in alice(study).get(address).content.decode()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("01,Elm,quality,R3,1,\n", "rankings.csv:10: method: Elm: expected two or"),
        ("01,Elm,quality,R1,,\n", "rankings.csv:10: rank: .empty.: expected a whole"),
        (
            "".join(f"02,M{n},quality,R1,{n},\n" for n in range(1, 11)),
            "rankings.csv:10: method: 10 methods: expected a ranking of at most 9",
        ),
    ],
)
def test_impossible_ranking_is_refused_with_its_line(tmp_path, rows, message):
    with pytest.raises(CommandError, match=message):
        load(tmp_path, RANKINGS + rows, "rankings", benchmark="fresh", create=True)
    assert not Study.objects.exists()


@pytest.mark.slow
def test_imported_ranking_shows_no_places_in_the_personal_data(tmp_path):
    lines = RANKINGS.splitlines()
    sided = [f"{lines[0]},left_method", *(f"{line},Birch" for line in lines[1:7])]
    text = "\n".join(sided) + "\n"
    load(tmp_path, text, "rankings", benchmark="fresh", create=True)
    files = record.files(Study.objects.get().annotators.get())
    rows = csv.DictReader(io.StringIO(files["answers.csv"]))
    assert {row["answer"] for row in rows} == {"ab=c", "bac"}


@pytest.mark.shared
def test_real_rankings_of_up_to_nine_pictures_are_imported(shared, tmp_path):
    """ImageReward: 466 rankings, 349 with ties and 137 with gaps."""
    own = shared / "data" / "imagereward_rankings" / "rankings.csv"
    frame = pd.read_csv(own, dtype=str).rename(columns={"output": "method"})
    frame = frame.assign(
        criterion="quality", annotator="a", rank=frame["rank"].astype(int)
    )
    load(tmp_path, frame.to_csv(index=False), "rankings", benchmark="ir", create=True)
    study = Study.objects.get()
    assert problems(study) == []
    assert Ranking.objects.filter(value__contains="=").count() == 349
    back = study_tables.answers_frame(study, "rankings")
    keys = ["story", "method", "criterion", "annotator"]
    both = frame.merge(back, on=keys, validate="1:1")
    assert len(both) == len(frame) == len(back)
    dense = both.groupby("story")["rank_x"].rank("dense").astype(int)
    assert dense.tolist() == both["rank_y"].tolist()


@pytest.mark.slow
@pytest.mark.shared
def test_real_ratings_of_800_images_are_imported(shared):
    call_command(
        "import_judgements",
        ratings=shared / "data/dsg/ratings.csv",
        scale=(1, 5),
        benchmark="dsg",
        study="dsg",
        create=True,
    )
    assert Rating.objects.count() == 3995
    assert problems(Study.objects.get()) == []


HEADER = "story,method,dimension,annotator,rating,seconds,submitted_at,session,round"


def timed(row):
    """Return one rating with seconds, submitted_at, session and round."""
    return f"{HEADER}\n01,Alder,character,R1,4,{row}\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("nan,,,", "seconds: nan: .*a number of seconds"),
        ("-5,,,", "seconds: -5: .*a number of seconds"),
        ("abc,,,", "seconds: abc: .*a number of seconds"),
        ("1_0,,,", "seconds: 1_0: .*a number of seconds"),
        (",yesterday,,", "submitted_at: yesterday: .*a time such as"),
        (",0001-01-01T00:00:00+14:00,,", "submitted_at: .*a time such as"),
        (",9999-12-31T23:59:59-14:00,,", "submitted_at: .*a time such as"),
        (",,0,", "session: 0: .*a whole number from 1"),
        (",,,1.5", "round: 1.5: .*a whole number from 1"),
        (",,,0", "round: 0: .*a whole number from 1"),
        (",,,10000", "round: 10000: .*a whole number from 1 to 9999"),
    ],
)
def test_odd_times_and_counts_are_refused(tmp_path, row, message):
    with pytest.raises(CommandError, match=message):
        load(tmp_path, timed(row), benchmark="fresh", create=True)
    assert not Study.objects.exists()
    assert not Benchmark.objects.filter(slug="fresh").exists()


def test_sessions_and_times_are_stored_and_other_columns_noted(tmp_path, capsys):
    text = timed("12,2025-06-01T12:00:00Z,4,2").replace("seconds", "comment,seconds", 1)
    load(tmp_path, text.replace("R1,4,", "R1,4,nice,"))
    slot = Slot.objects.get()
    assert (slot.session, slot.round, slot.seconds) == (4, 2, 12)
    assert slot.submitted_at.isoformat() == "2025-06-01T12:00:00+00:00"
    notes = capsys.readouterr().err
    assert "columns not stored: comment" in notes
    assert "no submitted_at" not in notes


def test_sides_stay_unknown_when_missing(tmp_path):
    load(tmp_path, CHOICES, "choices")
    sides = dict(Choice.objects.values_list("annotator__name", "a_is_left"))
    assert sides == {"R1": False, "R2": None}


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (
            CHOICES + "01,Alder,Birch,realism,R1,a,Alder\n",
            {"table": "choices"},
            "the method on the left in line 2",
        ),
        ("story,method,character\n01,Alder,3\n", {"wide": True}, "mean ratings"),
        (RATINGS, {"scale": (0, 10**8)}, "a scale between -1000 and 1000"),
        (RATINGS, {"scale": (-5000, 5)}, "a scale between -1000 and 1000"),
        (RATINGS, {"study": "my study"}, "use only letters, digits"),
        (RATINGS.replace("seconds", "shot"), {}, "csv:2: shot: 12: .* whole output"),
        # An empty round is the first.
        (timed(",,,") + "01,Alder,character,R1,1,,,,1\n", {}, "line 2 has the same"),
    ],
)
def test_invalid_table_is_refused(tmp_path, text, options, expected):
    with pytest.raises(CommandError, match=expected):
        load(tmp_path, text, **options)


def test_other_benchmark_is_refused_for_existing_study(tmp_path):
    load(tmp_path, RATINGS)
    with pytest.raises(CommandError, match="benchmark woods, which study past uses"):
        load(tmp_path, RATINGS, benchmark="typo", create=True)
    assert not Benchmark.objects.filter(slug="typo").exists()


HEAD = "story,method,dimension,annotator,rating\n"


def refused(tmp_path, text, **options):
    with pytest.raises(CommandError) as caught:
        load(tmp_path, text, **options)
    assert not Study.objects.exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("ratings", "expected"),
    [
        ((3.5, 4), "steps of 1, not of 0.5: multiply all ratings and --scale by 2,"),
        (
            (2.25, 1.5),
            "steps of 1, not of 0.25: multiply all ratings and --scale by 4,",
        ),
        ((3.7, 0.2), "steps of 1, not of 0.1: multiply all ratings and --scale by 10,"),
        ((3.3333, 4), "a whole number; analyse mean ratings with plumbline align"),
    ],
)
def test_fractional_rating_is_refused_with_step_and_remedy(tmp_path, ratings, expected):
    first, second = ratings
    rows = f"01,Alder,look,R1,{first}\n01,Birch,look,R1,{second}\n"
    assert expected in refused(tmp_path, HEAD + rows)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("01,Alder,look,Anna@x,1\n01,Birch,look,anna@x,2\n", "annotator: anna@x"),
        ("01,Alder,look,A,1\n01,Alder,Look,B,2\n", "dimension: Look"),
        ("01,GPT-4o,look,A,1\n01,gpt-4o,look,A,2\n", "method: gpt-4o"),
        ("01,alder,look,A,1\n", "method: alder"),
        ("fox,Alder,look,A,1\nFOX,Alder,look,A,2\n", "story: FOX"),
        ("1,Alder,look,A,1\n", "story: 1"),
    ],
)
def test_name_with_two_spellings_is_refused(tmp_path, rows, expected):
    """Alder and story 01 exist before; the table adds the other names."""
    message = refused(tmp_path, HEAD + rows, create=True)
    assert f"{expected}: expected one spelling of a name: " in message
    assert "use that spelling, or a clearly different name" in message


def test_seconds_accept_decimal_comma_with_semicolons(tmp_path):
    text = HEAD.replace("\n", ",seconds\n") + "01,Alder,look,R1,4,12_5\n"
    load(tmp_path, text.replace(",", ";").replace("_", ","))
    assert Slot.objects.get().seconds == 12.5
    expected = "seconds: 12,5: expected a number of seconds from 0, such as 12.5"
    with pytest.raises(CommandError, match=expected):
        load(tmp_path, text.replace("12_5", '"12,5"'), study="other")


def test_ids_in_wide_table_are_left_out_with_note(tmp_path, capsys):
    text = "id,story,method,annotator,look\n7,01,Alder,R1,4\n8,01,Birch,R1,2\n"
    load(tmp_path, text, wide=True)
    assert "look like ids or times are left out: id." in capsys.readouterr().err
    assert [q.key for q in Study.objects.get().questions.all()] == ["look"]


def test_questions_get_titles_and_texts(tmp_path):
    questions = tmp_path / "questions.csv"
    questions.write_text(
        "key,title,text\ncharacter,Same character?,Is the fox the same?\n"
    )
    load(tmp_path, RATINGS, questions=questions)
    beauty, character = Study.objects.get().questions.order_by("key")
    assert (character.title, character.text) == (
        "Same character?",
        "Is the fox the same?",
    )
    assert (beauty.title, beauty.text) == ("beauty", "")


def test_title_of_an_unknown_question_is_refused(tmp_path):
    questions = tmp_path / "questions.csv"
    questions.write_text("key,title\ncharacter,Same?\nhumour,Funny?\n")
    message = "questions.csv:3: key: humour: expected a question of the answers: beauty"
    with pytest.raises(CommandError, match=message):
        load(tmp_path, RATINGS, questions=questions)
    assert not Study.objects.exists()
