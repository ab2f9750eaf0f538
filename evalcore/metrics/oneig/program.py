"""Requests of OneIG's program at 41b4983, with the prompts of a checkout of it.

The program runs Qwen2.5-VL itself; here its messages go to a judge.
"""

from evalcore.metrics.base import Image
from evalcore.metrics.llm_judge.checkouts import (
    ONEIG,
    PromptFile,
    longest_text,
    template_with,
    templates,
)
from evalcore.metrics.llm_judge.questions import JudgeQuestion

CODE = "oneig-code-41b4983"
QUESTION_FILE = PromptFile(
    ONEIG,
    "scripts/utils/inference.py",
    "cbb8f67e09f40b48e950890cb228adbc757823078b3c6bf86966620bb06097cf",
)
READING_FILE = PromptFile(
    ONEIG,
    "scripts/text/text_utils.py",
    "1d97c93ec8961696c59ff0c06e69d2096114bf291bf7eed9547ac53e6f196a53",
)
JPEG_QUALITY = 75
MOST_TOKENS = 128
# For expected texts of more words than that.
LONG_TEXT, MOST_TOKENS_LONG = 60, 256


def yes_or_no(image: Image, question: str) -> JudgeQuestion:
    """Return the program's question about a picture; PromptsError without its file."""
    asked = template_with(QUESTION_FILE.read(), "infer_semantic", "question")
    return _question(image, asked.filled({"question": question}), MOST_TOKENS)


def read_text(image: Image, wanted: str) -> JudgeQuestion:
    """Return the program's request for the text in a picture."""
    is_long = len(wanted.split()) > LONG_TEXT
    prompt = longest_text(QUESTION_FILE.read(), "__init__")
    return _question(image, prompt, MOST_TOKENS_LONG if is_long else MOST_TOKENS)


def without_remarks(reply: str) -> str:
    """Return a reply without the words that the program removes from it."""
    found = templates(READING_FILE.read(), "clean_and_remove_hallucinations")
    for remark in found:
        if not remark.gaps and remark.filled():
            reply = reply.replace(remark.filled(), "")
    return reply


def _question(image: Image, text: str, most_tokens: int) -> JudgeQuestion:
    return JudgeQuestion(
        (image, text), max_tokens=most_tokens, longest=None, quality=JPEG_QUALITY
    )
