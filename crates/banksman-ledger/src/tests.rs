use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use banksman_core::Digest;
use proptest::prelude::*;

use super::*;

/// As RFC 6962, 2.1, writes it down.
fn root_by_definition(leaves: &[Digest]) -> Digest {
    match leaves {
        [] => Digest::of(&[]),
        [one] => *one,
        many => {
            let (left, right) = many.split_at(many.len().next_power_of_two() / 2);
            node(&root_by_definition(left), &root_by_definition(right))
        }
    }
}

fn leaves(count: usize) -> Vec<Digest> {
    (0..count).map(|number| leaf(format!("event {number}").as_bytes())).collect()
}

#[test]
fn the_hashes_are_those_of_certificate_transparency() {
    // The empty log, the empty leaf, and the first two inputs of the reference implementation's tests.
    assert_eq!(
        Frontier::default().root().to_string(),
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    );
    assert_eq!(
        leaf(b"").to_string(),
        "sha256:6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    );
    let mut log = Frontier::default();
    log.push(leaf(b""));
    log.push(leaf(b"\x00"));
    assert_eq!(
        log.root().to_string(),
        "sha256:fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"
    );
}

#[test]
fn a_page_is_as_good_as_its_leaves() {
    for count in [0, 1, 255, 256, 257, 511, 512, 513, 1000, 1024, 1300] {
        let leaves = leaves(count);
        let whole = leaves.len() / 256 * 256;
        let pages: Vec<Digest> = leaves[..whole].chunks(256).map(|page| page_hash(page).unwrap()).collect();
        let log = root_at(&pages, &leaves[whole..]);
        assert_eq!((log.size(), log.root()), (count as u64, root_by_definition(&leaves)), "{count}");
        for index in [0, 1, 255, 256, 300, 511, 512, 999, count.saturating_sub(1)] {
            let from = index / 256 * 256;
            let own = leaves.get(from..(from + 256).min(count)).unwrap_or_default();
            let found = path_to(index as u64, own, &pages, &leaves[whole..]);
            assert_eq!(found.is_some(), index < count, "{index} of {count}");
            if let Some(found) = found {
                assert_eq!(Some(&found), path(&leaves, index).as_ref());
                assert!(holds(&leaves[index], index as u64, count as u64, &found, &log.root()));
            }
        }
    }
    assert_eq!(page_hash(&leaves(255)), None);
}

proptest! {
    #[test]
    fn a_log_grows_as_it_is_defined(count in 0usize..600) {
        let leaves = leaves(count);
        let mut log = Frontier::default();
        leaves.iter().for_each(|leaf| log.push(*leaf));
        prop_assert_eq!(log.root(), root_by_definition(&leaves));
    }

    #[test]
    fn a_proof_holds_for_its_own_leaf_place_size_and_root_only(count in 1usize..600, at in 0usize..600, other in 0usize..600) {
        let leaves = leaves(count);
        let (at, other) = (at % count, other % count);
        let root = root_by_definition(&leaves);
        let path = path(&leaves, at).unwrap();
        let (index, size) = (at as u64, count as u64);
        prop_assert!(holds(&leaves[at], index, size, &path, &root));
        prop_assert!(!holds(&leaf(b"forged"), index, size, &path, &root));
        prop_assert!(!holds(&leaves[at], index, size, &path, &leaf(b"forged")));
        prop_assert!(!holds(&leaves[at], index + size, size, &path, &root));
        if other != at {
            prop_assert!(!holds(&leaves[other], index, size, &path, &root));
            prop_assert!(!holds(&leaves[at], other as u64, size, &path, &root));
        }
        let mut longer = path.clone();
        longer.push(root);
        prop_assert!(!holds(&leaves[at], index, size, &longer, &root));
        if let [shorter @ .., _] = path.as_slice() {
            prop_assert!(!holds(&leaves[at], index, size, shorter, &root));
        }
        for place in 0..path.len() {
            let mut changed = path.clone();
            changed[place] = leaf(b"forged");
            prop_assert!(!holds(&leaves[at], index, size, &changed, &root));
        }
    }

    #[test]
    fn no_note_makes_it_panic(text in ".{0,200}", lines in "(banksman/audit\n)?[0-9]{0,25}\n[A-Za-z0-9+/=]{0,50}\n\n(\u{2014} banksman [A-Za-z0-9+/=]{0,120}\n)?") {
        let key = NoteKey::new("banksman", [7; 32]);
        prop_assert!(Checkpoint::open(&text, &key).is_err());
        prop_assert!(Checkpoint::open(&lines, &key).is_err());
        prop_assert!(text.parse::<NoteKey>().is_err());
    }
}

#[test]
fn a_checkpoint_is_believed_as_it_was_signed_and_not_otherwise() {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap();
    let public: [u8; 32] = pair.public_key().as_ref().try_into().unwrap();
    let key = NoteKey::new("banksman", public);
    let checkpoint = Checkpoint { size: 1234, root: leaf(b"x") };
    let note = checkpoint.note(&key, pair.sign(checkpoint.text().as_bytes()).as_ref());
    assert_eq!(Checkpoint::open(&note, &key), Ok(checkpoint));
    // A witness may add its own signature.
    assert_eq!(Checkpoint::open(&format!("{note}\u{2014} witness AAAAAAAA\n"), &key), Ok(checkpoint));
    assert_eq!(Checkpoint::open(&note.replace("1234", "1235"), &key), Err(NoteError::Forged));
    assert_eq!(Checkpoint::open(&note.replace("1234", "01234"), &key), Err(NoteError::Malformed));
    assert_eq!(Checkpoint::open(&note.replace("banksman/audit", "other"), &key), Err(NoteError::Malformed));
    let stranger = NoteKey::new("banksman", [1; 32]);
    assert!(matches!(Checkpoint::open(&note, &stranger), Err(NoteError::Unsigned(_))));

    let written = key.to_string();
    assert!(written.starts_with("banksman+"), "{written}");
    assert_eq!(written.parse(), Ok(key));
    let swapped = written.replacen("banksman", "bankman", 1);
    assert_eq!(swapped.parse::<NoteKey>(), Err(NoteError::InvalidKey));
}
