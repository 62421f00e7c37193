use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn admission(per_agent: usize, total: usize) -> Arc<Admission> {
    Admission::new(QueueLimits { per_agent, total, patience: PATIENCE })
}

/// Someone in line who was refused before they came, and once more at once if they were first.
fn refused(admission: &Arc<Admission>, agent: &str, full: Scope) -> Place {
    let place = admission.enter(agent, full, None).unwrap();
    if asks(&place) {
        place.refused(full);
    }
    place
}

fn asks(place: &Place) -> bool {
    place.admission.line().waiting.get(&place.number).unwrap().asks.is_some()
}

fn who_asks<const N: usize>(places: [&Place; N]) -> [bool; N] {
    places.map(asks)
}

#[test]
fn the_first_looks_again_and_those_behind_do_not() {
    let admission = admission(9, 9);
    let first = admission.enter("a", Scope::House, None).unwrap();
    let second = admission.enter("b", Scope::House, None).unwrap();
    // Another agent's own limit is not what these two wait for.
    assert_eq!(who_asks([&first, &second]), [true, false]);
}

#[test]
fn as_many_are_called_as_slots_come_free_in_order_of_arrival() {
    let admission = admission(9, 9);
    let [a, b, c] = ["a", "b", "c"].map(|agent| refused(&admission, agent, Scope::House));
    assert_eq!(who_asks([&a, &b, &c]), [false, false, false]);
    admission.freed("z");
    assert_eq!(who_asks([&a, &b, &c]), [true, false, false]);
    admission.freed("z");
    assert_eq!(who_asks([&a, &b, &c]), [true, true, false]);
    // In, and the next may look; it is refused, and the one behind it need not.
    drop(a);
    assert_eq!(who_asks([&b, &c]), [true, true]);
    b.refused(Scope::House);
    c.refused(Scope::House);
    assert_eq!(who_asks([&b, &c]), [false, false]);
}

#[test]
fn a_slot_of_an_agent_is_for_that_agent_or_for_who_waits_for_the_house() {
    let admission = admission(9, 9);
    let a = refused(&admission, "a", Scope::Agent);
    let b = refused(&admission, "b", Scope::Agent);
    let b_too = refused(&admission, "b", Scope::Agent);
    admission.freed("b");
    assert_eq!(who_asks([&a, &b, &b_too]), [false, true, false]);
    // A newcomer stands behind their own agent's, and not behind another's.
    assert_eq!(admission.ahead_of("b"), Some(Scope::Agent));
    assert_eq!(admission.ahead_of("c"), None);
    b.refused(Scope::House);
    assert_eq!(admission.ahead_of("c"), Some(Scope::House));
}

#[test]
fn who_cannot_use_a_slot_lets_the_next_one_try() {
    let admission = admission(9, 9);
    let [a, b] = ["a", "b"].map(|agent| refused(&admission, agent, Scope::House));
    admission.freed("z");
    assert_eq!(who_asks([&a, &b]), [true, false]);
    // There is room in the house, but agent a has used up its own.
    a.refused(Scope::Agent);
    assert_eq!(who_asks([&a, &b]), [false, true]);
    // b hangs up with the turn in its hand, and a is still full.
    drop(b);
    assert!(!asks(&a));
    admission.freed("a");
    assert!(asks(&a));
}

#[test]
fn what_comes_free_while_someone_asks_is_not_missed() {
    let admission = admission(9, 9);
    let place = refused(&admission, "a", Scope::House);
    admission.freed("z");
    admission.freed("z");
    place.refused(Scope::House);
    assert!(asks(&place), "the refusal may be older than the second slot");
    place.turn_now();
    place.refused(Scope::House);
    assert!(!asks(&place));
}

impl Place {
    /// What [`Place::turn`] does when it need not wait.
    fn turn_now(&self) {
        let mut line = self.admission.line();
        let freed = line.freed;
        line.waiting.get_mut(&self.number).unwrap().asks = Some(freed);
    }
}

#[test]
fn one_agent_cannot_fill_the_line() {
    let admission = admission(2, 3);
    let full = |agent| admission.enter(agent, Scope::Agent, None).is_err();
    let _places = ["a", "a", "b"].map(|agent| admission.enter(agent, Scope::Agent, None).unwrap());
    assert!(full("a"), "two of its own");
    assert!(full("c"), "three altogether");
}

#[tokio::test]
async fn a_line_that_closes_sends_everyone_away() {
    let admission = admission(9, 9);
    let place = refused(&admission, "a", Scope::House);
    let (ended, ()) = tokio::join!(place.turn(), async { admission.close() });
    assert_eq!(ended, Err(NoRoom::Full(Scope::House)));
    assert!(admission.enter("b", Scope::House, None).is_err());
}

#[test]
fn nothing_is_left_behind() {
    let admission = admission(9, 9);
    let places = ["a", "b"].map(|agent| refused(&admission, agent, Scope::Agent));
    assert_eq!(admission.line().full_agents.len(), 2);
    drop(places);
    let line = admission.line();
    assert!(line.waiting.is_empty() && line.full_agents.is_empty() && !line.house_is_full);
}
