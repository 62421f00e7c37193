//! Reading our own pages. Every `<` and `>` of a text is escaped, so what is between them is a tag of ours.

/// A page in pieces.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) tags: Vec<Tag>,
    /// What is between tags.
    pub(crate) texts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    /// With a slash, if it ends an element.
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
}

impl Tag {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Page {
    /// Takes a page apart. Whatever does not look like markup of ours fails.
    pub(crate) fn read(page: &str) -> Self {
        let mut tags = Vec::new();
        let mut texts = Vec::new();
        let mut rest = page;
        while let Some((text, after)) = rest.split_once('<') {
            assert!(!text.contains('>'), "a stray > in {text:?}");
            texts.push(text.to_owned());
            let (tag, after) = after.split_once('>').expect("a tag that does not end");
            assert!(!tag.contains('<'), "a tag in a tag: {tag:?}");
            tags.push(read_tag(tag));
            rest = after;
        }
        texts.push(rest.to_owned());
        Self { tags, texts }
    }

    /// The names of all elements in order, without the marks on what cannot be seen, or could pass for other white space.
    pub(crate) fn shape(&self) -> Vec<String> {
        let mut shape = Vec::new();
        let mut inside_mark = false;
        for tag in &self.tags {
            if matches!(tag.attribute("class"), Some("unseen" | "spaces" | "tab" | "break")) {
                inside_mark = true;
            } else if inside_mark {
                assert_eq!(tag.name, "/span");
                inside_mark = false;
            } else {
                shape.push(tag.name.clone());
            }
        }
        shape
    }
}

fn read_tag(tag: &str) -> Tag {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (attribute, after) = rest.split_at(end);
        match after.strip_prefix("=\"") {
            Some(after) => {
                let (value, after) = after.split_once('"').expect("a value that does not end");
                attributes.push((attribute.to_owned(), value.to_owned()));
                rest = after;
            }
            None => {
                attributes.push((attribute.to_owned(), String::new()));
                rest = after;
            }
        }
    }
    Tag { name: name.to_owned(), attributes }
}
