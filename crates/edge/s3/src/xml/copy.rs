use super::{read::Node, write::Element};

/// Writes an element, and what is below it, as it was read.
pub(crate) fn copy(node: &Node<'_>, to: &mut Element) {
    if node.children.is_empty() {
        to.text(node.name, &node.text);
    } else {
        to.child(node.name, |to| node.children.iter().for_each(|child| copy(child, to)));
    }
}
