"""Settings of the judge from the environment."""

from decimal import Decimal

import pytest

from evalcore.metrics.llm_judge.settings import JudgeSettingsError, read_settings
from tests.evalcore.metrics.llm_judge.serving import KEY

LOCAL = {"JUDGE_BASE_URL": "http://localhost:11434/v1", "JUDGE_NAME": "qwen2.5vl:7b"}
HOSTED = {
    "JUDGE_BASE_URL": "https://judge.example/v1",
    "JUDGE_NAME": "gpt-4.1",
    "JUDGE_API_KEY": KEY,
    "JUDGE_PRICE_IN": "2",
    "JUDGE_PRICE_OUT": "8",
    "JUDGE_BUDGET": "5",
}


def test_local_judge_needs_no_key_no_price_and_no_budget():
    settings = read_settings(LOCAL)
    assert settings.url == "http://localhost:11434/v1/chat/completions"
    assert (settings.key, settings.budget, settings.price_in) == ("", None, 0)
    assert (settings.timeout, settings.concurrency) == (120.0, 8)
    assert settings.requests_per_minute is None
    assert settings.is_local


def test_all_settings_are_read():
    more = {
        "JUDGE_REQUESTS_PER_MINUTE": "90",
        "JUDGE_TIMEOUT": " 2.5 ",
        "JUDGE_CONCURRENCY": "3",
    }
    settings = read_settings({**HOSTED, **more})
    assert (settings.name, settings.key, settings.budget) == ("gpt-4.1", KEY, 5)
    assert (settings.price_in, settings.price_out) == (Decimal(2), Decimal(8))
    assert settings.requests_per_minute == 90
    assert (settings.timeout, settings.concurrency) == (2.5, 3)
    assert not settings.is_local


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("JUDGE_BASE_URL", "localhost:11434", "is not a valid address"),
        ("JUDGE_BASE_URL", "ftp://a.example/v1", "is not a valid address"),
        ("JUDGE_BASE_URL", "https:///v1", "is not a valid address"),
        ("JUDGE_BASE_URL", "https://a.example:port/v1", "is not a valid address"),
        ("JUDGE_BASE_URL", "https://a b.example/v1", "is not a valid address"),
        ("JUDGE_BASE_URL", "https://me:pass@a.example/v1", "JUDGE_API_KEY"),
        ("JUDGE_BASE_URL", f"https://me:{KEY}@a.example/v1", "is not a valid address"),
        ("JUDGE_BASE_URL", f"https://a.example/v1?key={KEY}", "JUDGE_API_KEY"),
        ("JUDGE_BASE_URL", f"ftp://me:{KEY}@a.example/v1", "is not a valid address"),
        ("JUDGE_BASE_URL", f"ftp://a.example/v1?key={KEY}", "is not a valid address"),
        ("JUDGE_API_KEY", f"{KEY}\nX: 1", "JUDGE_API_KEY"),
        ("JUDGE_API_KEY", f"{KEY}é", "JUDGE_API_KEY"),
        ("JUDGE_BUDGET", "five", "JUDGE_BUDGET='five'"),
        ("JUDGE_BUDGET", "-1", "from 0"),
        ("JUDGE_BUDGET", "NaN", "from 0"),
        ("JUDGE_BUDGET", "inf", "from 0"),
        ("JUDGE_PRICE_IN", "$2", "JUDGE_PRICE_IN"),
        ("JUDGE_PRICE_OUT", "2,5", "JUDGE_PRICE_OUT"),
        ("JUDGE_PRICE_IN", "1e99999", "to 1000000"),
        ("JUDGE_REQUESTS_PER_MINUTE", "0", "from 0.1"),
        ("JUDGE_TIMEOUT", "0", "from 0.1 to 3600"),
        ("JUDGE_TIMEOUT", "1e20", "from 0.1 to 3600"),
        ("JUDGE_CONCURRENCY", "0", "1 to 256"),
        ("JUDGE_CONCURRENCY", "257", "1 to 256"),
        ("JUDGE_CONCURRENCY", "2.5", "1 to 256"),
        (
            "JUDGE_TOKEN_PARAMETER",
            "tokens",
            "write max_tokens or max_completion_tokens",
        ),
        ("JUDGE_TEMPERATURE", "cold", "from 0 to 2, or `none` to send none"),
        ("JUDGE_TEMPERATURE", "2.5", "from 0 to 2"),
        ("JUDGE_REASONING_EFFORT", "very high", "such as low, medium or high"),
        ("JUDGE_EXTRA_TOKENS", "2k", "a whole number from 0"),
        ("JUDGE_EXTRA_BODY", "{top_k: 1}", "write a JSON object"),
        ("JUDGE_EXTRA_BODY", "[1]", "write a JSON object"),
        ("JUDGE_EXTRA_BODY", '{"top_p": NaN}', "write a JSON object"),
        ("JUDGE_EXTRA_BODY", '{"max_tokens": 9}', "sets max_tokens: leave that out"),
        ("JUDGE_EXTRA_BODY", '{"n": 2, "model": "x"}', "sets model, n: leave that out"),
        ("JUDGE_STRUCTURED", "yes", "from 0 to 1"),
        ("JUDGE_STOP_AFTER", "-1", "from 0"),
    ],
)
def test_wrong_setting_is_reported_without_the_key(name, value, words):
    with pytest.raises(JudgeSettingsError, match=words.replace("$", r"\$")) as caught:
        read_settings({**HOSTED, name: value})
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)
