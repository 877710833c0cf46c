"""What is right to say of a situation, whether a program runs it or a fixture has it."""
import dataclasses
import pathlib
import re

from expected import CAUSES, EXPECTED
from situations import OF_HEALTHY

CROWDED_SAYS = ("cpu_wait", "too_short")


@dataclasses.dataclass
class Answer:
    text: str  # what wallspy said when it was done
    findings: list
    others_cpus: float = 0  # that other programs used meanwhile
    crowded: bool = False  # they took the program's
    truth: dict = dataclasses.field(default_factory=dict)
    recorded: bool = False  # its program's truth is that of the very recording, on CPUs of its own

    def paragraphs(self):
        return " ".join(self.text.split())


def masked(words):
    return re.sub(r"\d[\d,.]*(?<=\d)", "#", words)


def sentences():
    """The whole sentences of a few situations, by name."""
    text = (pathlib.Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8")
    blocks = [block.split(None, 1) for block in text.split("\n\n")[1:]]
    return {name: " ".join(words.split()) for name, words in blocks}


def is_of(rule, finding):
    return re.fullmatch(rule, finding["rule"]) is not None


def words_missing(situation, finding):
    return [word for word in situation.words if not re.search(word, finding["words"])]


def figure_is_off(figure, answer, finding):
    """What is wrong with FIGURE of the finding; None: nothing."""
    key, true_key, within = figure
    true = answer.truth
    for part in true_key.split("."):
        true = (true or {}).get(part)
    shown = finding["figures"].get(key)
    if true is None or shown is None:
        return f"no figure to compare: {key} {shown}, true {true}"
    within *= (true if true > 1 else 1) * (2 if answer.crowded else 1)  # of a rate, a part of it
    # A rate that changes while the program runs: the recording has a part of that time.
    least, most = (answer.truth.get(f"{true_key}_{end}", true) for end in ("least", "most"))
    # Where others take the CPUs, a part of any time is waiting for one.
    is_right = least - within <= shown <= most + within or answer.crowded and shown < true
    return None if is_right else f"{key} is {shown:.3g}, true {true:.3g}"


def wrong_with_row(row, finding):
    """What of ROW is not in FINDING, as texts."""
    wrong = ([] if finding["rule"] in CAUSES[row.cause]
             else [f"{finding['rule']} tells no {row.cause!r}"])
    told = " ".join([finding["words"], *finding["figures"]])
    return wrong + [f"no {key} {want!r}" for key, want in row._asdict().items()
                    if key != "cause" and not re.search(want, told, re.DOTALL)]


def wrong_with_fault(situation, answer):
    """What is wrong with the answer of a program with a fault, as text; empty: nothing."""
    # Where others take the CPUs, that may be said first.
    said = [f for f in answer.findings
            if not (answer.crowded and f["rule"] == "cpu_wait" != situation.rule)]
    if len(said) < len(answer.findings) and "computes" in situation.rule:
        return []  # it computes, as far as it is let
    if not said or not is_of(situation.rule, said[0]):
        return [f"expected {situation.rule}, said {[f['rule'] for f in answer.findings]}"]
    wrong = [f"not in its words: {word}" for word in words_missing(situation, said[0])]
    if situation.name in EXPECTED:
        wrong += wrong_with_row(EXPECTED[situation.name], said[0])
    wrong += [f"in its words: {word}" for word in situation.not_words for f in said
              if re.search(word, f["words"])]
    off = [figure_is_off(figure, answer,
                         said[0]) for figure in situation.all_figures(answer.recorded)]
    wrong += [text for text in off if text]
    if any(f["rule"] in ("nothing", "too_short") for f in said):
        wrong.append("says that there is nothing, too")
    return wrong


def wrong_with_twin(situation, answer):
    """No fault may be found in it; and what is found may not be the other program's, in the same
    words."""
    if answer.crowded and situation.spinners:
        return []  # it has the same fault
    allowed = OF_HEALTHY + situation.twin_says + CROWDED_SAYS * answer.crowded
    return [f"says of the twin ({f['rule']}): {f['words']}" for f in answer.findings
            if f["rule"] not in allowed or is_of(situation.rule, f) and not words_missing(situation,
                                                                                          f)]


def wrong_with_healthy(situation, answer):
    allowed = situation.healthy + CROWDED_SAYS * answer.crowded
    wrong = [f"says of a healthy program ({f['rule']}): {f['words']}" for f in answer.findings
             if f["rule"] not in allowed]
    wrong += [f"speaks of it: {f['words']}" for f in answer.findings if re.search(situation.unsaid,
                                                                                  f["words"])]
    return wrong if answer.findings else ["no finding"]


def check(situation, twin, answer):
    """What is wrong with ANSWER, as texts; none: it is right."""
    if situation.healthy:
        wrong = wrong_with_healthy(situation, answer)
    elif twin:
        wrong = wrong_with_twin(situation, answer)
    else:
        wrong = wrong_with_fault(situation, answer)
    shown = answer.paragraphs()
    return wrong + [f"not on the terminal: {f['words']}" for f in answer.findings
                    if " ".join(f["words"].split()) not in shown]
