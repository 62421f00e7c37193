//! The terminal, which is left as it was found however this ends.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Once;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::model::Model;
use crate::steady::Steady;
use crate::view;

/// Right-to-left writing in one column must not reorder the columns beside it: characters stay where they are put.
const EXPLICIT_ORDER: &str = "\u{1b}[8l";
const IMPLICIT_ORDER: &str = "\u{1b}[8h";

pub(crate) struct Screen {
    backend: Steady<CrosstermBackend<BufWriter<Stdout>>>,
    /// What is on the screen; only what differs is written.
    drawn: Buffer,
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
        let backend = Steady(CrosstermBackend::new(BufWriter::with_capacity(1 << 16, io::stdout())));
        let mut screen = Self { backend, drawn: Buffer::default() };
        screen.come_back()?;
        Ok(screen)
    }

    /// Gives the terminal back for a while: to an editor, or to the shell.
    pub(crate) fn leave(&self) {
        give_back();
    }

    /// Takes the terminal again; whatever was drawn meanwhile is drawn over.
    pub(crate) fn come_back(&mut self) -> io::Result<()> {
        take_over()?;
        self.forget();
        Ok(())
    }

    /// Forgets what is on the screen, so that all of it is drawn.
    pub(crate) fn forget(&mut self) {
        self.drawn = Buffer::default();
    }

    pub(crate) fn size(&self) -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    pub(crate) fn draw(&mut self, model: &Model) -> io::Result<()> {
        let area = Rect::new(0, 0, model.columns, model.rows);
        let mut next = Buffer::empty(area);
        view::draw(model, &mut next);
        // Shown at once, by terminals that can: half a question is worse than a late one.
        queue!(self.backend.0, BeginSynchronizedUpdate)?;
        if self.drawn.area != area {
            self.drawn = Buffer::empty(area);
            self.backend.clear()?;
        }
        self.backend.draw(self.drawn.diff_iter(&next))?;
        queue!(self.backend.0, EndSynchronizedUpdate)?;
        self.drawn = next;
        Backend::flush(&mut self.backend)
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
