from hypothesis import given
from hypothesis import strategies as st

from hat.agent.faults import FAULTS, FaultSchedule, with_faults
from hat.domains.base import get_domain
from hat.domains.live_shop.scoring import DOMAIN_ERRORS

arguments = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=3)


@given(seed=st.integers(0, 99), operation=st.text(max_size=8), arguments=arguments)
def test_a_fault_depends_on_seed_call_and_attempt_only_and_passes(seed, operation, arguments):
    schedule = FaultSchedule(seed)
    fault = schedule.fault(operation, arguments, 0)
    assert fault == FaultSchedule(seed).fault(operation, dict(reversed(arguments.items())), 0)
    assert fault is not None
    assert fault.status == "error"
    assert fault.code in FAULTS
    assert schedule.fault(operation, arguments, 1) is None


def test_the_share_of_failing_operations_is_about_what_was_asked():
    schedule = FaultSchedule(3, share=0.3)
    failed = sum(schedule.fault("stock", {"link_id": link}, 0) is not None for link in range(2000))
    assert 500 < failed < 700
    codes = {FaultSchedule(3).fault("stock", {"link_id": link}, 0).code for link in range(50)}
    assert codes == set(FAULTS)


def test_faults_are_told_from_the_domains_own_errors():
    assert not set(FAULTS) & DOMAIN_ERRORS


def test_only_scheduled_tasks_fail_and_a_retry_gets_the_true_result():
    domain = get_domain("live_shop")
    one, other = domain.sample_tasks("dev", 2, 1, intents=["price"])
    execute = with_faults(domain.execute, {one.id: FaultSchedule(0)})
    call = ("product_info", {"link_id": one.slots["link"]})
    assert execute(one, *call, 0).code in FAULTS
    assert execute(one, *call, 1) == domain.execute(one, *call)
    assert execute(other, *call, 0) == domain.execute(one, *call)
