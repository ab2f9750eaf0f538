"""Small files of the form of the programs' own, in other words."""

from evalcore.metrics.envision_program import PROMPT_FILE
from evalcore.metrics.llm_judge import checkouts
from evalcore.metrics.oneig.program import QUESTION_FILE, READING_FILE
from evalcore.metrics.vistorybench.prompt_alignment import NAME_FILE, RUBRIC_FILES

SEQUENCE = '''
def build_sequence_evaluation_messages(sequence_data, pictures):
    """Build."""
    steps = []
    for step_data in sequence_data["prompts"]:
        steps.append(
            f"{step_data['step']}) {step_data['prompt']}\\n"
            f"Why: {step_data['explanation']}\\n"
        )
    steps_text = "\\n".join(steps)
    return [
        {"role": "system", "content": [{"type": "text", "text": "Judge with care."}]},
        {"type": "text", "text": f"""No. {sequence_data['index']}
{sequence_data['category']}: {sequence_data['process_type']}
{steps_text}
Give nine scores."""},
    ]
'''
NAME = """
class Evaluator:
    def evaluate(self, Characters, char):
        return {"type": "text", "text": f"It is {Characters[char]['name']}."}
"""
INFERENCE = """
class Judge:
    def __init__(self, kind: str = "none"):
        self.prompt = ("Copy the text, "
                       "or say nothing.")

    def infer_semantic(self, question):
        return {"type": "text", "text": f"{question} Really?"}
"""
READING = """
def clean_and_remove_hallucinations(texts):
    for word in ["[blank]"]:
        texts = [text.replace(word, "").replace(f"\\n{word}", "") for text in texts]
    return texts
"""
FILES = {
    PROMPT_FILE: SEQUENCE,
    NAME_FILE: NAME,
    QUESTION_FILE: INFERENCE,
    READING_FILE: READING,
    **{file: f"Rate the {aspect}.\n" for aspect, file in RUBRIC_FILES.items()},
}


def write_checkouts(folder, monkeypatch) -> None:
    """Write the files, and have them pass for the published ones."""
    published = {}
    for file, text in FILES.items():
        path = folder / "checkouts" / file.checkout.folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        published[path] = file.sha256
    monkeypatch.setattr(checkouts, "file_hash", published.__getitem__)
    monkeypatch.setenv("EVALCORE_WEIGHTS_DIR", str(folder))
