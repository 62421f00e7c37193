//! Looking, approving, denying, answering, editing, and deciding about several.

use banksman_core::{Decision, Status};
use serde_json::json;

use super::seat::{DOWN, ENTER, ESCAPE, LARGE, PAGE_DOWN, SMALL, Seat, command};
use super::{Office, decides};

#[test]
fn the_screens_of_an_action_on_its_way_to_yes() {
    for (size, name) in [(SMALL, "80x24"), (LARGE, "120x40")] {
        let office = Office::open();
        let refund = office.refund();
        office.mail("ada@example.com");
        let mut seat = office.watch(size);
        seat.sees("2 waiting");
        seat.sees("live");
        insta::assert_snapshot!(format!("list_{name}"), seat.picture());
        // The refund is riskier and came first, with the same time left.
        seat.types(ENTER);
        seat.sees("What will run");
        insta::assert_snapshot!(format!("detail_{name}"), seat.picture());
        seat.types("a");
        seat.reads("APPROVAL REQUIRED");
        insta::assert_snapshot!(format!("dialog_{name}"), seat.picture());
        seat.types(PAGE_DOWN);
        seat.types("y");
        seat.sees("Recorded: 1 of 2 approvals");
        assert_eq!(office.stands(&refund).votes[0].by, "ann");
        seat.types("?");
        seat.sees("any key: back");
        insta::assert_snapshot!(format!("help_{name}"), seat.picture());
        seat.types("xq");
        assert_eq!(seat.ends(), Some(0));
    }
}

#[test]
fn approving_lets_exactly_what_was_shown_run() {
    let office = Office::open();
    let mail = office.mail("ada@example.com");
    let mut seat = office.watch(SMALL);
    seat.sees("send_email");
    seat.types("a");
    let dialog = seat.reads("APPROVAL REQUIRED");
    assert!(dialog.contains("to: \"ada@example.com\""), "{dialog}");
    seat.types("y");
    seat.sees("Approved: send_email may run once");
    let now = office.stands(&mail);
    assert_eq!((now.status, now.digest), (Status::Authorised, mail.digest));
    seat.sees("Nothing is waiting.");
}

#[test]
fn denying_takes_a_reason_and_answering_takes_words() {
    let office = Office::open();
    let (first, second) = (office.mail("ada@example.com"), office.mail("bea@example.com"));
    let mut seat = office.watch(SMALL);
    seat.sees("2 waiting");
    seat.types("d");
    seat.sees("[Enter] Reject");
    seat.types("not on a Sunday");
    seat.sees("Why: not on a Sunday");
    seat.types(ENTER);
    seat.sees("Denied.");
    let denied = office.stands(&first).resolution.unwrap();
    assert_eq!((denied.by.as_str(), denied.reason.as_deref()), ("ann", Some("not on a Sunday")));

    seat.sees("1 waiting");
    seat.types("r");
    seat.sees("To the agent:");
    seat.types(ENTER);
    seat.sees("The agent needs words");
    seat.types("write a letter");
    seat.types(ENTER);
    seat.sees("the agent gets your message");
    assert_eq!(office.stands(&second).resolution.unwrap().message.as_deref(), Some("write a letter"));
}

#[test]
fn a_reason_that_policy_asks_for_is_asked_for() {
    let office = Office::open();
    let held = office.proposes(&json!({"tool": "delete_customer", "args": {"id": 7}}));
    let mut seat = office.watch(SMALL);
    seat.sees("critical");
    seat.types("a");
    seat.reads("APPROVAL REQUIRED");
    seat.types("y");
    seat.sees("[Enter] Approve with this reason");
    seat.types(ENTER);
    seat.sees("Policy asks for a reason.");
    seat.types("asked for by the customer");
    seat.types(ENTER);
    let now = office.becomes(&held, Status::Authorised);
    assert_eq!(now.resolution.unwrap().reason.as_deref(), Some("asked for by the customer"));
}

#[test]
fn what_is_typed_ahead_or_pasted_is_no_answer() {
    let office = Office::open();
    let mail = office.mail("ada@example.com");
    let mut seat = office.watch(SMALL);
    seat.sees("send_email");
    // Both at once: nobody can have read what the second answers.
    seat.types("ay");
    seat.reads("That key came before the question");
    assert_eq!(office.stands(&mail).status, Status::Pending);
    // A paste is not keys, whatever it says.
    seat.types("\u{1b}[200~y\r\u{1b}[201~");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(seat.screen().contains("APPROVAL REQUIRED"), "{}", seat.screen());
    assert_eq!(office.stands(&mail).status, Status::Pending);
}

#[test]
fn a_long_action_has_to_be_read_to_its_end_before_yes_counts() {
    let office = Office::open();
    let script: String = (1..=60).map(|number| format!("echo step {number}\n")).collect();
    let held = office.proposes(&json!({"tool": "send_email", "args": {"body": script + "the very end"}}));
    let mut seat = office.watch(SMALL);
    seat.sees("send_email");
    seat.types("a");
    seat.reads("more lines");
    seat.types("y");
    seat.sees("read to the end first");
    assert_eq!(office.stands(&held).status, Status::Pending);
    for _ in 0..8 {
        seat.types(PAGE_DOWN);
    }
    seat.sees("the very end");
    seat.types("y");
    office.becomes(&held, Status::Authorised);
}

/// An editor that does this to the file.
fn with_editor(office: &Office, script: &str, size: (u16, u16)) -> Seat {
    let path = office.installation.beside("editor.sh");
    std::fs::write(&path, script).unwrap();
    let mut command = command(&office.server, &office.token);
    command.env("EDITOR", format!("sh {}", path.display()));
    Seat::start(command, size)
}

#[test]
fn an_edit_is_shown_before_it_is_sent() {
    for (size, name) in [(SMALL, "80x24"), (LARGE, "120x40")] {
        let office = Office::open();
        let mail = office.mail("ada@example.com");
        let mut seat = with_editor(&office, "sed -i s/ada@/bea@/ \"$1\"", size);
        seat.sees("send_email");
        seat.types("e");
        seat.reads("SEND YOUR EDIT?");
        insta::assert_snapshot!(format!("edit_{name}"), seat.picture());
        assert_eq!(office.stands(&mail).version, 1, "nothing is sent before yes");
        seat.types("y");
        seat.sees("with your arguments");
        let now = office.stands(&mail);
        assert_eq!((now.status, now.version), (Status::Authorised, 2));
        assert!(now.args.as_str().contains("bea@example.com"), "{}", now.args.as_str());
    }
}

#[test]
fn the_editor_has_the_keyboard_to_itself() {
    let office = Office::open();
    let mail = office.mail("ada@example.com");
    let script = "printf 'who instead? ' > /dev/tty; read who < /dev/tty; sed -i \"s/ada/$who/\" \"$1\"";
    let mut seat = with_editor(&office, script, SMALL);
    seat.sees("send_email");
    seat.types("e");
    seat.sees("who instead?");
    seat.inspect(|screen| assert!(!screen.alternate_screen()));
    // Letters that would be keys for us.
    seat.types("qadfry\r");
    seat.reads("SEND YOUR EDIT?");
    seat.types("y");
    seat.sees("with your arguments");
    let now = office.stands(&mail);
    assert!(now.args.as_str().contains("qadfry@example.com"), "{}", now.args.as_str());
}

#[test]
fn an_edit_that_cannot_be_used_is_not_lost_and_not_sent() {
    let office = Office::open();
    let mail = office.mail("ada@example.com");
    // Breaks it the first time, and mends it the second time.
    let script = "if grep -q ada@ \"$1\"; then printf '{\"to\": oops' > \"$1\"; else printf '{\"to\": \"x\"}' > \"$1\"; fi";
    let mut seat = with_editor(&office, script, SMALL);
    seat.sees("send_email");
    seat.types("e");
    let screen = seat.sees("YOUR EDIT CANNOT BE USED");
    assert!(screen.contains("not JSON"), "{screen}");
    seat.types("e");
    seat.sees("SEND YOUR EDIT?");
    seat.types(ESCAPE);
    seat.sees_no_more("SEND YOUR EDIT?");
    assert_eq!(office.stands(&mail).version, 1);
    // An editor that fails is said to have failed.
    drop(seat);
    let mut seat = with_editor(&office, "exit 3", SMALL);
    seat.sees("send_email");
    seat.types("e");
    seat.sees("the editor ended with an error");
}

#[test]
fn several_are_decided_at_once_each_in_sight_and_each_with_its_answer() {
    for (size, name) in [(SMALL, "80x24"), (LARGE, "120x40")] {
        let office = Office::open();
        let mails = ["ada", "bea", "cem"].map(|who| office.mail(&format!("{who}@example.com")));
        let mut seat = office.watch(size);
        seat.sees("3 waiting");
        seat.types("   ");
        seat.sees("3 marked");
        seat.types("a");
        let dialog = seat.reads("APPROVAL REQUIRED: 3 ACTIONS");
        for who in ["ada", "bea"] {
            assert!(dialog.contains(&format!("{who}@example.com")), "{dialog}");
        }
        insta::assert_snapshot!(format!("several_{name}"), seat.picture());
        // All but the second, of which someone else takes the third.
        seat.types(DOWN);
        seat.types(" ");
        seat.sees("2 chosen");
        decides(&office.other, &mails[2], Decision::Deny);
        seat.sees("1 chosen");
        seat.types(DOWN);
        seat.sees("Already denied by bob");
        seat.types("y");
        seat.sees("Nothing more is chosen.");
        assert_eq!(
            mails.map(|mail| office.stands(&mail).status),
            [Status::Authorised, Status::Pending, Status::Denied]
        );
        seat.types(ESCAPE);
        seat.sees("1 waiting");
    }
}
