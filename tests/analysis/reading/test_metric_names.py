import pytest

from analysis.reading.texts import MEANS, contained, higher_by_name

# As headers of papers, results of programs and people's own tables have them.
SPELLINGS = {
    "copy_paste": False,
    "Copy-Paste\N{DOWNWARDS ARROW}": False,
    "Copy Paste Rate": False,
    "FID (\N{DOWNWARDS ARROW})": False,
    "FVD": False,
    "FID-CLIP": False,
    "fvd (InternVideo)": False,
    "fid_clip@storybench-paper": False,
    "KID\N{DOWNWARDS ARROW}": False,
    "FID\N{UPWARDS ARROW}": True,
    "CIDS \N{UPWARDS ARROW}": True,
    # Whole words, in any case.
    "LPIPS-x": False,
    "lpips_vgg": False,
    "IL-NIQE": False,
    "BRISQUE (mean)": False,
    "CMMD": False,
    "kid": False,
    "FID50k": False,
    "Fr\u00e9chet distance": False,
    "GPT-2 perplexity": False,
    "word error rate": False,
    "kidney": None,
    "LPIPS similarity": None,
    "neg_lpips": None,
    # Nothing is said: what stands before a name turns it, what follows is another.
    "-FID": None,
    "1 - FID": None,
    "fidelity": None,
    "FID drop": None,
    "csd_self": None,
    "\N{UPWARDS ARROW}\N{DOWNWARDS ARROW}": None,
}


@pytest.mark.parametrize(("name", "expected"), SPELLINGS.items())
def test_direction_follows_name_or_arrow(name, expected):
    assert higher_by_name(name) is expected


def test_mean_contains_its_parts_also_where_they_are_there_by_theirs():
    dimensions = MEANS["envision_overall"]
    names = [*MEANS["envision_consistency"], *dimensions[1:], "csd_self"]
    assert contained("envision_overall", names) == (names[:-1], True)
    assert contained("envision_overall", names[1:]) == (names[1:-1], False)
    assert contained("csd_self", names) == ([], False)
    assert contained("pqa", ["fid"]) == ([], False)
