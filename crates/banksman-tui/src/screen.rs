//! The terminal, which is left as it was found however this ends.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use crate::model::Model;
use crate::steady::Steady;
use crate::view;

/// Right-to-left writing in one column must not reorder the columns beside it: characters stay where they are put.
const EXPLICIT_ORDER: &str = "\u{1b}[8l";
const IMPLICIT_ORDER: &str = "\u{1b}[8h";

pub(crate) struct Screen {
    terminal: Terminal<Steady<CrosstermBackend<BufWriter<Stdout>>>>,
}

impl Screen {
    /// Takes over the terminal. Should anything panic, on whatever thread, it is given back, the panic is told, and
    /// that is the end: what is left would go on without half of itself.
    pub(crate) fn open() -> io::Result<Self> {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let told_before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                told_before(panic);
                std::process::exit(101);
            }));
        });
        let backend = CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout()));
        let screen = Self { terminal: Terminal::new(Steady(backend))? };
        take_over()?;
        Ok(screen)
    }

    /// Gives the terminal back for a while: to an editor, or to the shell.
    pub(crate) fn leave(&self) {
        give_back();
    }

    /// Takes the terminal again; whatever was drawn meanwhile is drawn over.
    pub(crate) fn come_back(&mut self) -> io::Result<()> {
        take_over()?;
        self.terminal.clear()
    }

    /// Forgets what is on the screen, so that all of it is drawn.
    pub(crate) fn redraw(&mut self) -> io::Result<()> {
        self.terminal.clear()
    }

    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        Ok((size.width, size.height))
    }

    pub(crate) fn draw(&mut self, model: &Model) -> io::Result<()> {
        self.terminal.draw(|frame| view::draw(model, frame.buffer_mut())).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste, Hide, Print(EXPLICIT_ORDER))
}

/// Twice does no harm.
fn give_back() {
    let mut out = io::stdout();
    // If the terminal is gone there is nothing to give back.
    let _ = execute!(out, Print(IMPLICIT_ORDER), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}
