//! The way in: an action or a text, and what was found in it.

use std::sync::Arc;

use banksman_core::{Action, Assessment, Kind};

use crate::inspection::{Code, Inspection};
use crate::origin::Origin;
use crate::{Catalogue, Limits, address, path, tool};

/// Bytes of a path or of a tool's name; system calls take a quarter of it.
const LONGEST_NAME: usize = 16 * 1024;

/// Reads actions and says what they could do. Cheap to clone; shared between threads.
#[derive(Debug, Clone)]
pub struct Assessor {
    catalogue: Arc<Catalogue>,
    limits: Limits,
}

impl Assessor {
    /// An assessor that judges by a catalogue.
    #[must_use]
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue, limits: Limits::default() }
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The rules that it judges by.
    #[must_use]
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The same, to keep.
    #[must_use]
    pub fn shared_catalogue(&self) -> Arc<Catalogue> {
        Arc::clone(&self.catalogue)
    }

    /// What an action could do.
    #[must_use]
    pub fn assess(&self, action: &Action) -> Assessment {
        let mut inspection = Inspection::new(&self.catalogue, self.limits);
        if let Some(folder) = working_folder(action) {
            inspection.work_in(&folder);
        }
        tool::inspect_action(&mut inspection, action);
        inspection.conclude()
    }

    /// What a text of a kind could do: a command, a program, a statement, a URL, a path, the name of a tool.
    #[must_use]
    pub fn assess_text(&self, kind: Kind, text: &str) -> Assessment {
        let mut inspection = Inspection::new(&self.catalogue, self.limits);
        match (Code::of(kind), kind) {
            // No path and no name is so long; what is made of them is copied around as a whole.
            (None, Kind::File | Kind::Tool) if text.len() > LONGEST_NAME => {
                inspection.signal("input_too_long", Origin::whole(text).span(0..text.len()));
            }
            (Some(code), _) => inspection.read(code, text, Origin::whole(text)),
            (None, Kind::Http) => address::inspect_text(&mut inspection, text),
            (None, Kind::File) => path::inspect_text(&mut inspection, text),
            (None, _) => tool::inspect_text(&mut inspection, text),
        }
        inspection.conclude()
    }
}

/// What the folder that an action works in is called among its arguments.
const FOLDERS: &[&str] = &["cwd", "workdir", "working_directory", "working_dir"];

/// Where an action works: as its arguments say, or else as a hook found it.
fn working_folder(action: &Action) -> Option<String> {
    let said = [Some(&action.args), action.evidence.as_ref()].into_iter().flatten();
    said.filter(|said| FOLDERS.iter().any(|name| said.as_str().contains(name))).find_map(|said| {
        let said = said.to_json().ok()?;
        FOLDERS.iter().find_map(|name| said.get(name)?.as_str().map(str::to_owned))
    })
}
