//! Kernels that compile, and the place of every kind of fault, as an editor sees them.

use std::collections::BTreeMap;

use tileport_native::{Answer, Diagnostic, Request, Source, Tensor, compile};

const TWICE: &str = r"//! A kernel for the tests.
#[cutile::module]
pub mod doubled {
    use cutile::core::*;

    #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),))]
    pub fn twice<E: ElementType, const N: i32>(x: &Tensor<E, { [-1] }>, y: &Tensor<E, { [-1] }>) {
        let block: i32 = get_tile_block_id().0;
        let parts: Partition<E, { [N] }> = x.partition(shape![N]);
        for i in 0i32..4i32 {
            let tile: Tile<E, { [N] }> = parts.load([block * 4i32 + i]);
            let mut out: PartitionMut<E, { [N] }> = unsafe { y.partition_full_mut(shape![N]) };
            out.store(tile + tile, [block * 4i32 + i]);
        }
    }
}
";

fn tensor(name: &str) -> Tensor {
    Tensor {
        name: name.to_string(),
        strides: vec![1],
        shape_div: vec![16],
        stride_div: vec![1],
        base_div: 16,
        stride_one: vec![true],
        disjoint: true,
    }
}

fn request(text: &str) -> Request {
    Request {
        path: "ports/twice.rs".to_string(),
        text: text.to_string(),
        entry: "twice".to_string(),
        generics: vec!["f32".to_string(), "128".to_string()],
        tensors: vec![tensor("x"), tensor("y")],
        scalar_divs: BTreeMap::new(),
        options: BTreeMap::new(),
        target: "sm_90".to_string(),
        bytecode_version: "13.4".to_string(),
    }
}

fn changed(from: &str, to: &str) -> Answer {
    assert!(TWICE.contains(from), "the kernel has no {from:?}");
    compile(request(&TWICE.replacen(from, to, 1)))
}

/// The only diagnostic, checked to be at the first place of `at` in the text with the change.
#[track_caller]
fn fault_at(answer: Answer, text: &str, at: &str) -> Diagnostic {
    assert!(answer.bytecode.is_none());
    let [diagnostic] = &answer.report.diagnostics[..] else {
        panic!(
            "expected one diagnostic, got {:?}",
            answer.report.diagnostics
        );
    };
    let offset = text
        .find(at)
        .unwrap_or_else(|| panic!("no {at:?} in the text"));
    let before = &text[..offset];
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let place = diagnostic.place;
    assert_eq!(
        (place.line, place.column),
        (line, column),
        "{}",
        diagnostic.message
    );
    diagnostic.clone()
}

#[track_caller]
fn change_faults(from: &str, to: &str, at: &str) -> Diagnostic {
    fault_at(changed(from, to), &TWICE.replacen(from, to, 1), at)
}

fn bytecode(request: Request) -> Vec<u8> {
    let answer = compile(request);
    answer
        .bytecode
        .unwrap_or_else(|| panic!("{:?}", answer.report.diagnostics))
}

#[test]
fn a_kernel_compiles_and_keeps_its_places() {
    let bytes = bytecode(request(TWICE));
    assert!(bytes.starts_with(b"\x7fTileIR"));
    assert_eq!(&bytes[8..10], &[13, 4]);
    assert!(bytes.windows(8).any(|window| window == b"twice.rs"));
}

#[test]
fn the_same_request_gives_the_same_bytes_also_after_the_thread_was_replaced() {
    let first = bytecode(request(TWICE));
    for _ in 0..70 {
        assert!(bytecode(request(TWICE)) == first);
    }
}

#[test]
fn what_is_kept_of_a_text_does_not_change_what_comes_out() {
    let other = TWICE.replacen("tile + tile", "tile * tile", 1);
    let first = [bytecode(request(TWICE)), bytecode(request(&other))];
    assert!(first[0] != first[1]);
    for _ in 0..3 {
        // Faults in between, panics among them, and another specialization of the same text.
        assert!(
            changed(
                "+ i]);\n            let",
                "+ 3000000000]);\n            let"
            )
            .bytecode
            .is_none()
        );
        let mut wide = request(TWICE);
        wide.generics[1] = "256".to_string();
        assert!(bytecode(wide) != first[0]);
        assert!(bytecode(request(TWICE)) == first[0]);
        assert!(bytecode(request(&other)) == first[1]);
    }
    // The path is part of the places.
    let mut moved = request(TWICE);
    moved.path = "elsewhere/twice.rs".to_string();
    assert!(bytecode(moved) != first[0]);
}

#[test]
fn the_bytecode_version_is_the_one_asked_for() {
    let mut newer = request(TWICE);
    newer.bytecode_version = "13.5".to_string();
    assert_eq!(&bytecode(newer)[8..10], &[13, 5]);
}

#[test]
fn the_specialization_and_the_options_reach_the_bytecode() {
    let plain = bytecode(request(TWICE));
    let mut odd = request(TWICE);
    odd.tensors[0].shape_div = vec![1];
    assert!(bytecode(odd) != plain);
    let mut launched = request(TWICE);
    launched.options.insert("occupancy".to_string(), 4);
    let hinted = bytecode(launched.clone());
    assert!(hinted != plain);
    // The option is noted under the target's name.
    launched.target = "sm_100".to_string();
    assert!(bytecode(launched) != hinted);
}

#[test]
fn syntax_errors_have_their_place() {
    let text = TWICE.replacen("let block", "let let block", 1);
    let found = fault_at(compile(request(&text)), &text, "let block");
    assert_eq!(found.source, Source::Syntax);
    change_faults(
        "x.partition(shape![N]);",
        "x.partition(shape![N]));",
        ");\n        for",
    );
}

#[test]
fn columns_count_characters() {
    let text = TWICE.replacen("tile + tile", "/* \u{1f389}\u{e4} */ tile + tïle", 1);
    fault_at(compile(request(&text)), &text, "tïle");
}

#[test]
fn unknown_names_have_their_place() {
    change_faults("tile + tile", "tile + other", "other");
    change_faults("x.partition(", "x.partitoin(", "partitoin");
    change_faults("get_tile_block_id()", "get_block()", "get_block");
}

#[test]
fn a_missing_entry_is_told_at_the_module_with_those_there_are() {
    let mut other = request(TWICE);
    other.entry = "thrice".to_string();
    let found = fault_at(compile(other), TWICE, "doubled");
    assert!(found.message.contains("`thrice`") && found.message.contains("`twice`"));
}

#[test]
fn a_function_without_the_attribute_is_no_entry() {
    let attribute = "#[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),))]";
    change_faults(attribute, "", "twice<E");
}

#[test]
fn faults_of_hints_are_told_at_the_hint() {
    change_faults("occupancy = 2", "ocupancy = 2", "ocupancy");
    change_faults("occupancy = 2", "occupancy = N", "occupancy = N");
    change_faults(
        "occupancy = 2,",
        "occupancy = 2, occupancy = 3",
        "occupancy = 3",
    );
    change_faults("occupancy = 2", "latency = 2", "latency");
    change_faults("sm_90 =", "am_90 =", "am_90");
    change_faults("(sm_90 = (occupancy = 2,),)", "3", "3)]");
    change_faults(
        "optimization_hints",
        "optimisation_hints",
        "optimisation_hints",
    );
    change_faults(
        "optimization_hints",
        "unchecked_accesses = 1, optimization_hints",
        "1, optimization_hints",
    );
}

#[test]
fn a_tensor_nothing_is_known_of_is_told_at_the_parameter() {
    let mut fewer = request(TWICE);
    fewer.tensors.pop();
    fault_at(compile(fewer), TWICE, "y: &Tensor");
    let mut wrong = request(TWICE);
    wrong.tensors[1].strides = vec![-1, 1];
    fault_at(compile(wrong), TWICE, "y: &Tensor");
}

#[test]
fn parameters_that_no_kernel_takes_are_told_at_the_parameter() {
    change_faults(
        "y: &Tensor<E, { [-1] }>",
        "y: Tensor<E, { [-1] }>",
        "y: Tensor",
    );
    let text = TWICE.replacen("{ [-1] }>) {", "{ [-1] }>, name: String) {", 1);
    fault_at(compile(request(&text)), &text, "String");
}

#[test]
fn wrong_generics_are_told_at_the_generics() {
    for generics in [&["f32"][..], &["f32", "128", "1"], &["f32", "wide"]] {
        let mut other = request(TWICE);
        other.generics = generics.iter().map(ToString::to_string).collect();
        fault_at(compile(other), TWICE, "<E: ElementType");
    }
}

#[test]
fn a_panic_is_told_at_what_causes_it() {
    let found = change_faults(
        "+ i]);\n            let",
        "+ 3000000000]);\n            let",
        "3000000000",
    );
    assert!(found.message.contains("panicked"), "{}", found.message);
    change_faults(
        "let block: i32",
        "let big: i32 = 5_000_000_000;\n        let block: i32",
        "5_000_000_000",
    );
    // In a function that is inlined.
    let text = TWICE.replacen(
        "    #[cutile::entry",
        "    fn big() -> i32 {\n        7000000000\n    }\n\n    #[cutile::entry",
        1,
    );
    let text = text.replacen("let parts", "let n = big();\n        let parts", 1);
    fault_at(compile(request(&text)), &text, "7000000000");
}

#[test]
fn what_the_writer_refuses_is_told_where_it_is_written() {
    let narrow = "let wide: Tile<i64, { [] }> = scalar_to_tile(7i64);\n        \
                  let narrow: Tile<i32, { [] }> = trunci(wide, overflow::None);\n        let parts";
    change_faults("let parts", narrow, "trunci(wide");
    // In a function that is inlined: where it is written, not where it is called.
    let text = TWICE.replacen(
        "    #[cutile::entry",
        "    fn narrowed() -> Tile<i32, { [] }> {\n        \
             let wide: Tile<i64, { [] }> = scalar_to_tile(7i64);\n        \
             trunci(wide, overflow::None)\n    }\n\n    #[cutile::entry",
        1,
    );
    let text = text.replacen("let parts", "let n = narrowed();\n        let parts", 1);
    fault_at(compile(request(&text)), &text, "trunci");
}

#[test]
fn a_port_is_one_module() {
    let none = "fn f() {}\n";
    fault_at(compile(request(none)), none, "fn f");
    let empty = compile(request(""));
    assert_eq!(
        empty.report.diagnostics[0].place,
        tileport_native::Place { line: 1, column: 1 }
    );
    let text = format!("{TWICE}\n#[cutile::module]\npub mod second {{}}\n");
    fault_at(compile(request(&text)), &text, "second");
    let elsewhere = "#[cutile::module]\npub mod doubled;\n";
    fault_at(compile(request(elsewhere)), elsewhere, "doubled");
}

#[test]
fn deep_nesting_is_refused_and_moderate_nesting_compiles() {
    let nested = |depth: usize| format!("{}tile{} + tile", "(".repeat(depth), ")".repeat(depth));
    let answer = changed("tile + tile", &nested(100_000));
    assert!(answer.report.diagnostics[0].message.contains("deep"));
    assert!(changed("tile + tile", &nested(200)).bytecode.is_some());
}

#[test]
fn a_module_named_like_one_of_cutile_compiles() {
    assert!(changed("mod doubled", "mod core").bytecode.is_some());
}

#[test]
fn requests_for_what_cannot_be_are_refused_with_a_message() {
    for (option, version) in [("speed", "13.4"), ("occupancy", "12.9")] {
        let mut other = request(TWICE);
        other.options.insert(option.to_string(), 1);
        other.bytecode_version = version.to_string();
        let found = fault_at(compile(other), TWICE, "twice<E");
        assert!(found.message.contains("speed") || found.message.contains("12.9"));
    }
}
