//! The list, its filter, and the kill switch.

use super::Office;
use super::seat::{DOWN, ENTER, ESCAPE, LARGE, SMALL, UP};

#[test]
fn a_filter_narrows_the_list_and_says_so() {
    let office = Office::open();
    for who in ["ada", "bea", "cem"] {
        office.mail(&format!("{who}@example.com"));
    }
    office.refund();
    let mut seat = office.watch(SMALL);
    seat.sees("4 waiting: 1 high, 3 medium");
    seat.types("/");
    seat.sees("filter:");
    seat.types("bea");
    seat.sees_no_more("ada@");
    seat.types(ENTER);
    let screen = seat.sees("1 of 4 shown");
    assert!(screen.contains("bea@e"), "{screen}");
    seat.types("/");
    seat.types(" nothing");
    seat.sees("Nothing matches bea nothing");
    seat.types(ESCAPE);
    seat.sees("cem@");
    seat.types("/tier:escalate\r");
    let screen = seat.sees("1 of 4 shown");
    assert!(screen.contains("process_refund") && !screen.contains("send_email"), "{screen}");
}

#[test]
fn the_cursor_goes_where_the_arrows_say() {
    let office = Office::open();
    for number in 0..40 {
        office.mail(&format!("{number:02}@example.com"));
    }
    let mut seat = office.watch(SMALL);
    seat.sees("40 waiting");
    let current = |seat: &super::seat::Seat| {
        let rows = seat.rows();
        rows.iter().find(|row| row.starts_with('>')).cloned().unwrap_or_default()
    };
    seat.types(DOWN);
    seat.types(DOWN);
    seat.types(UP);
    let began = std::time::Instant::now();
    while !current(&seat).contains("01@") {
        assert!(began.elapsed() < crate::installation::PATIENCE, "{}", seat.screen());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    seat.types("G");
    seat.sees("39@");
    assert!(current(&seat).contains("39@"), "{}", seat.screen());
    seat.types("g");
    seat.sees("00@");
}

#[test]
fn everything_can_be_frozen_and_let_go_again() {
    for (size, name) in [(SMALL, "80x24"), (LARGE, "120x40")] {
        let office = Office::open();
        office.mail("ada@example.com");
        let mut seat = office.watch(size);
        seat.sees("send_email");
        seat.types("f");
        let screen = seat.sees("Nothing is frozen.");
        assert!(
            screen.contains("freeze the agent support-bot") && screen.contains("freeze the tool send_email"),
            "{screen}"
        );
        seat.types("e");
        seat.types("it went wild");
        seat.types(ENTER);
        seat.sees("Freeze EVERYTHING, at once?");
        // Anything that is not clearly yes is no.
        seat.types("x");
        seat.sees_no_more("at once?");
        assert!(office.other.freezes().unwrap().items.is_empty());
        seat.types("eit went wild\r");
        seat.sees("Freeze EVERYTHING, at once?");
        seat.types("y");
        seat.sees("FROZEN: everything, by ann");
        assert_eq!(office.other.freezes().unwrap().items[0].reason, "it went wild");
        seat.types("f");
        seat.sees("lift the freeze");
        insta::assert_snapshot!(format!("frozen_{name}"), seat.picture());
        seat.types("l");
        seat.sees("Lift the freeze of everything?");
        seat.types("y");
        seat.sees_no_more("FROZEN");
        assert!(office.other.freezes().unwrap().items.is_empty());
    }
}
