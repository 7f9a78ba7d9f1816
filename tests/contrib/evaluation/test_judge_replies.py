import pytest

from crewgraph.contrib.evaluation import EvaluationScore, MetricCategory
from crewgraph.contrib.evaluation.evaluator import extract_json_from_llm_response, parse_score
from crewgraph.contrib.evaluation.metrics import ReasoningPatternType, reasoning_pattern


@pytest.mark.parametrize(
    ("reply", "score", "feedback"),
    [
        ('{"score": 8.5, "feedback": "good"}', 8.5, "good"),
        ('Here it is:\n```json\n{"score": "7", "feedback": "good"}\n```', 7.0, "good"),
        ('{"overall_score": 6, "score": 2, "feedback": "so so"}', 6.0, "so so"),
        ('{"scores": {"relevance": 9, "error_handling": 5}}', 7.0, "Relevance: 9/10\nError handling: 5/10"),
        (
            '{"score": 3, "feedback": "no", "improvement_suggestions": ["Look.", "Ask."]}',
            3.0,
            "no\n\nTo do better: Look. Ask.",
        ),
        (
            '{"score": 3, "detected_patterns": ["loop", "detour"], "optimization_suggestions": "Go."}',
            3.0,
            "Patterns: loop, detour\n\nTo do better: Go.",
        ),
        ('{"score": 0}', 0.0, '{"score": 0}'),
        ('{"score": null, "feedback": "nothing there"}', None, "nothing there"),
    ],
)
def test_the_mark_in_a_reply(reply: str, score: float | None, feedback: str):
    assert parse_score(reply) == EvaluationScore(score=score, feedback=feedback, raw_response=reply)


@pytest.mark.parametrize(
    "reply",
    ["", "I like it.", "[1]", "null", '{"score": 60}', '{"score": "high"}', '{"feedback": "good"}', '{"score": NaN}'],
)
def test_a_reply_without_a_mark_is_reported_and_gives_none(reply: str):
    mark = parse_score(reply)
    assert (mark.score, mark.raw_response) == (None, reply)
    assert "no mark from 0 to 10" in mark.feedback


def test_the_object_in_a_reply():
    assert extract_json_from_llm_response('Well: {"a": {"b": 1}}, so') == {"a": {"b": 1}}
    with pytest.raises(ValueError, match=r"no JSON object in the reply '\[1\]'"):
        extract_json_from_llm_response("[1]")


def test_a_mark_is_between_0_and_10_and_5_by_default():
    assert str(EvaluationScore(score=7, feedback="good")) == "Score: 7.0/10 - good"
    assert str(EvaluationScore(score=None)) == "Score: N/A - "
    assert EvaluationScore().score == 5.0
    for mark in (-1, 11):
        with pytest.raises(ValueError, match="score"):
            EvaluationScore(score=mark)
    assert MetricCategory.TOOL_SELECTION.title() == "Tool Selection"


@pytest.mark.parametrize(
    ("replies", "pattern"),
    [
        (["I look for the tide.", "It is six hours."], "efficient"),
        (["Action: look\nAction Input: sea", "Action: look\nAction Input: sea"], "loop"),
        (["Wait, actually the moon.", "Hmm, wait, the sun. Actually no."], "indecisive"),
        (["word " * 500 + "one", "other " * 500 + "two"], "verbose"),
        (["red green", "one two", "sea wind"], "scattered"),
        ([], "efficient"),
    ],
)
def test_what_replies_look_like(replies: list[str], pattern: str):
    assert reasoning_pattern(replies) is ReasoningPatternType(pattern)
