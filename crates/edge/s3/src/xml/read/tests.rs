use super::*;
use crate::xml::{Element, can_hold};
use proptest::prelude::*;

const LIMITS: Limits = Limits { bytes: 4 << 20, depth: 16, elements: 100_001 };

#[test]
fn elements_text_entities_and_cdata_are_read() {
    let root = parse(
        b"<?xml version=\"1.0\"?><!-- c --><a:Delete xmlns=\"x\"><Quiet>true</Quiet>\
          <Object><Key>a&amp;b&#x1;&#65;<![CDATA[<c>]]></Key></Object><Object/></a:Delete>\n",
        LIMITS,
    )
    .unwrap();
    assert_eq!(root.name, "Delete");
    assert_eq!(root.text_of("Quiet"), Ok(Some("true")));
    assert_eq!(root.all("Object").count(), 2);
    let first = root.all("Object").next().unwrap();
    assert_eq!(first.text_of("Key"), Ok(Some("a&b\u{1}A<c>")));
}

#[test]
fn what_is_not_xml_is_refused() {
    for document in [
        "",
        "x",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "<a b=c/>",
        "<a>&x;</a>",
        "<a>&#xd800;</a>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
        "<a",
        "<a b",
        "</a>",
        "<a>&#x110000;</a>",
        "<!DOCTYPE a><a/>",
        "<a><?xml version=\"1.0\"?></a>",
        "<a><!-- </a>",
        "<a><![CDATA[</a>",
        "<a>&amp</a>",
        "<a>&</a>",
        "<a>&#;</a>",
        "<a>&#x;</a>",
        "<a>&#-0;</a>",
        "<a/>x",
        "x<a/>",
        "&amp;<a/>",
        "<a b='1' b='2'/>",
        "< a/>",
        "<a\"/>",
        "<a></a><a></a>",
        "<a/><![CDATA[]]>",
        "<a/><?xml version='1.0'?>",
    ] {
        assert_eq!(parse(document.as_bytes(), LIMITS), Err(Malformed), "{document}");
    }
    assert_eq!(parse(b"<a>\xff</a>", LIMITS), Err(Malformed));
    assert_eq!(parse("<a>".repeat(40).as_bytes(), LIMITS), Err(Malformed));
}

#[test]
fn what_clients_send_in_other_words_is_the_same() {
    let plain = parse(b"<Delete><Quiet>true</Quiet></Delete>", LIMITS).unwrap();
    for document in [
        "\u{feff}<?xml version='1.0' encoding='UTF-8' standalone='yes'?>\
         <Delete><Quiet>true</Quiet></Delete>",
        "\n <Delete ><Quiet\t>true</Quiet ></Delete >\n<!-- end --><?really?>\n",
        "<Delete xmlns='http://s3.amazonaws.com/doc/2006-03-01/'><Quiet>true</Quiet></Delete>",
        "<s3:Delete xmlns:s3='urn:x'><s3:Quiet>t<!-- -->r&#117;<![CDATA[e]]></s3:Quiet></s3:Delete>",
    ] {
        assert_eq!(parse(document.as_bytes(), LIMITS).unwrap(), plain, "{document}");
    }
    let key = parse(b"<Key>a\r\nb\rc</Key>", LIMITS).unwrap();
    assert_eq!(key.text, "a\r\nb\rc");
    let key = parse(b"<Key>a&#0;b&#x00;&#1;&#xFFFF;</Key>", LIMITS).unwrap();
    assert_eq!(key.text, "a\0b\0\u{1}\u{ffff}");
}

#[test]
fn what_a_schema_has_once_is_there_once_and_texts_hold_nothing_else() {
    let root = parse(b"<a><b>1</b><c>2</c><b>3</b><d><e/></d><f/></a>", LIMITS).unwrap();
    assert_eq!(root.text_of("b"), Err(Malformed));
    assert_eq!(root.child("b"), Err(Malformed));
    assert_eq!(root.text_of("c"), Ok(Some("2")));
    assert_eq!(root.text_of("d"), Err(Malformed));
    assert_eq!((root.text_of("f"), root.text_of("g")), (Ok(Some("")), Ok(None)));
    assert!(root.named("a").is_ok() && root.named("b").is_err());
}

#[test]
fn a_document_has_as_many_elements_as_the_longest_needs_and_no_more() {
    let part = format!("<Part>{}</Part>", "<x>y</x>".repeat(9));
    let document = |more: &str| format!("<a>{}{more}</a>", part.repeat(10_000));
    assert_eq!(parse(document("").as_bytes(), LIMITS).unwrap().children.len(), 10_000);
    assert_eq!(parse(document("<x/>").as_bytes(), LIMITS), Err(Malformed));
}

#[test]
fn each_limit_is_the_last_that_is_allowed() {
    for (limits, within, beyond) in [
        (Limits { bytes: 9, ..LIMITS }, "<a>45</a>", "<a>456</a>"),
        (Limits { depth: 2, ..LIMITS }, "<a><b/></a>", "<a><b><c/></b></a>"),
        (Limits { elements: 3, ..LIMITS }, "<a><b/><b/></a>", "<a><b/><b/><b/></a>"),
    ] {
        assert!(parse(within.as_bytes(), limits).is_ok(), "{within}");
        assert_eq!(parse(beyond.as_bytes(), limits), Err(Malformed), "{beyond}");
    }
    let attributes = |count: usize| {
        let each: Vec<_> = (0..count).map(|at| format!(" a{at}='1'")).collect();
        format!("<a{}/>", each.concat())
    };
    assert!(parse(attributes(ATTRIBUTES_MAX).as_bytes(), LIMITS).is_ok());
    assert!(parse(attributes(ATTRIBUTES_MAX + 1).as_bytes(), LIMITS).is_err());
}

/// Elements, those within each other, and bytes of text of what was read.
fn size(node: &Node<'_>) -> (usize, usize, usize) {
    let of_children = node.children.iter().map(size);
    of_children.fold((1, 1, node.text.len()), |(elements, depth, bytes), child| {
        (elements + child.0, depth.max(child.1 + 1), bytes + child.2)
    })
}

/// Texts that are nearly documents: pieces of them in whatever order.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "<a>",
        "</a>",
        "<b x='1'>",
        "</b>",
        "<c/>",
        "text",
        "&amp;",
        "&#65;",
        "&#x41;",
        "&x;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?x",
        "?>",
        "<?xml version='1.0'?>",
        "<!DOCTYPE a",
        "[<!ENTITY x '",
        "'>]>",
        ">",
        "<",
        "&",
        ";",
        "'",
        "\"",
        "=",
        "\u{feff}",
        " ",
        "\r\n",
        "é",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes())
}

/// What XML can hold.
fn text() -> impl Strategy<Value = String> {
    let held = |chars: Vec<char>| chars.into_iter().filter(|c| can_hold(&c.to_string()));
    prop::collection::vec(any::<char>(), 0..8).prop_map(move |chars| held(chars).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn any_bytes_are_an_error_or_a_document_within_its_limits(
        document in prop_oneof![4 => pieces(), 1 => prop::collection::vec(any::<u8>(), 0..80)],
        (bytes, depth, elements) in (0..200_usize, 0..5_usize, 0..8_usize),
    ) {
        if let Ok(root) = parse(&document, Limits { bytes, depth, elements }) {
            let size = size(&root);
            prop_assert!(document.len() <= bytes);
            prop_assert!(size.0 <= elements && size.1 <= depth && size.2 <= document.len());
        }
    }

    #[test]
    fn what_was_written_is_read(texts in prop::collection::vec(text(), 1..4)) {
        let mut root = Element::in_namespace("a");
        for text in &texts {
            root.text("b", text);
        }
        let document = root.document();
        let root = parse(document.as_bytes(), LIMITS).unwrap();
        let read: Vec<_> = root.all("b").map(|node| node.text.clone()).collect();
        prop_assert_eq!(read, texts);
    }
}
