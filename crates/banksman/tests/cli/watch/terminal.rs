//! The terminal itself: taken, resized, and always given back.

use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::Office;
use super::hostile::assert_frame_stands;
use super::seat::{CTRL_Z, ENTER, LARGE, SMALL, Seat, command};
use crate::installation::{program, said};

/// As a shell expects it.
fn assert_given_back(seat: &Seat) {
    assert!(seat.is_cooked());
    seat.inspect(|screen| {
        assert!(!screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor());
    });
}

#[test]
fn quitting_and_being_told_to_give_the_terminal_back() {
    let office = Office::open();
    for (signal, code) in
        [(None, 0), (Some(Signal::TERM), 143), (Some(Signal::HUP), 129), (Some(Signal::INT), 130)]
    {
        let mut seat = office.watch(SMALL);
        seat.sees("Nothing is waiting.");
        seat.inspect(|screen| assert!(screen.alternate_screen() && screen.bracketed_paste()));
        assert!(!seat.is_cooked());
        match signal {
            Some(signal) => kill_process(Pid::from_child(seat.process()), signal).unwrap(),
            None => seat.types("q"),
        }
        assert_eq!(seat.ends(), Some(code), "{signal:?}");
        seat.sees_no_more("Nothing is waiting.");
        assert_given_back(&seat);
    }
}

#[test]
fn stepping_back_to_the_shell_and_coming_again() {
    let office = Office::open();
    office.mail("ada@example.com");
    let watch = command(&office.server, &office.token);
    // A shell with job control, as people have.
    let mut shell = Command::new("bash");
    shell.args(["--norc", "--noprofile", "-i"]).env("PS1", "ready> ");
    for (name, value) in watch.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let mut seat = Seat::start(shell, SMALL);
    seat.sees("ready>");
    seat.types(&format!("{} watch\n", watch.get_program().to_str().unwrap()));
    seat.sees("send_email");
    seat.types(CTRL_Z);
    seat.sees("Stopped");
    seat.inspect(|screen| assert!(!screen.alternate_screen()));
    seat.types("echo still $((40 + 2))\n");
    seat.sees("still 42");
    seat.types("fg\n");
    seat.sees("WHAT WILL RUN");
    seat.inspect(|screen| assert!(screen.alternate_screen()));
    seat.types("q");
    seat.sees("still 42");
    seat.types("exit\n");
    assert_eq!(seat.ends(), Some(0));
}

#[test]
fn every_size_shows_what_fits() {
    let office = Office::open();
    office.refund();
    let mut seat = office.watch(SMALL);
    seat.sees("process_refund");
    seat.types(ENTER);
    seat.sees("What will run");
    seat.types("a");
    seat.sees("[Y] Approve");
    for (columns, rows) in [LARGE, (50, 14), (200, 60), (40, 12), SMALL] {
        seat.resizes(columns, rows);
        seat.reads("[Y] Approve");
        assert_frame_stands(&seat, &format!("{columns}x{rows}"));
    }
    seat.resizes(30, 8);
    seat.sees("Too small");
    seat.resizes(80, 24);
    seat.sees("[Y] Approve");
}

#[test]
fn without_colours_nothing_is_coloured() {
    let office = Office::open();
    office.refund();
    let mut plain = command(&office.server, &office.token);
    plain.env("NO_COLOR", "1");
    for (command, coloured) in [(plain, false), (command(&office.server, &office.token), true)] {
        let mut seat = Seat::start(command, SMALL);
        seat.sees("process_refund");
        seat.types("a");
        seat.sees("APPROVAL REQUIRED");
        let colours = seat.inspect(|screen| {
            let (rows, columns) = screen.size();
            (0..rows.get())
                .flat_map(|row| (0..columns.get()).map(move |column| (row, column)))
                .filter_map(|(row, column)| screen.cell(row, column))
                .filter(|cell| {
                    cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
                })
                .count()
        });
        assert_eq!(colours > 0, coloured, "{colours}");
    }
}

#[test]
fn without_a_terminal_it_says_what_to_use_instead() {
    let office = Office::open();
    let output = command(&office.server, &office.token).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("watch needs a terminal") && said(&output).contains("banksman pending"));
    let output = office.server.run(&office.token, &["watch", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("prints no JSON"), "{}", said(&output));

    let mut dumb = command(&office.server, &office.token);
    dumb.env("TERM", "dumb");
    let mut seat = Seat::start(dumb, SMALL);
    seat.sees("cannot show a full screen");
    assert_eq!(seat.ends(), Some(2));
}

#[test]
fn without_a_server_or_a_token_it_says_so_in_a_line() {
    let mut lonely = program();
    lonely
        .arg("watch")
        .env("BANKSMAN_URL", "http://127.0.0.1:1")
        .env("BANKSMAN_TOKEN", "t")
        .env("TERM", "xterm");
    let mut seat = Seat::start(lonely, SMALL);
    seat.sees("cannot reach the server");
    assert_eq!(seat.ends(), Some(6));
    seat.inspect(|screen| assert!(!screen.alternate_screen()));

    let office = Office::open();
    let mut seat = Seat::watch(&office.server, "bkm_nobody", SMALL);
    seat.sees("The token is not valid");
    assert_eq!(seat.ends(), Some(5));
}
