"""A sentence is its English text, and knows what it was made of."""

import pickle

from analysis import sentences
from analysis.sentences import Notes, chained, sentence


def test_sentence_is_text_with_a_template_and_values():
    text = sentence("{names} of {total} left out.", names=["UNO", "Wan"], total=9)
    assert text == "UNO, Wan of 9 left out."
    assert text.template == "{names} of {total} left out."
    assert text.values == {"names": ["UNO", "Wan"], "total": 9}
    assert {str(text): 1}[text] == 1
    again = pickle.loads(pickle.dumps(text))
    assert (again, again.template, again.values) == (text, text.template, text.values)


def test_parts_are_chained_and_one_stays_alone():
    assert chained("{first}; {second}", ["a", "b", "c"]) == "a; b; c"
    assert chained("{first}; {second}", ["a"]) == "a"


def test_counted_noun_has_its_plural_and_its_template():
    two = sentences.counted(2.0, "story", "stories")
    assert (two, two.template, two.values) == ("2 stories", "{n} story", {"n": 2})


def test_notes_name_the_questions_of_a_sentence_and_keep_it():
    notes = Notes()
    for question in ("p", "r"):
        notes.add(sentence("no score of {metric}.", metric="fid"), question)
    (found,) = notes.sentences()
    assert found == "p, r: no score of fid."
    assert found.values["name"] == ["p", "r"]
    assert found.values["text"].values == {"metric": "fid"}
