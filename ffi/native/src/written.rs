//! Where the writer stumbled: it names the kind of op it cannot write, and the IR knows where
//! each op comes from.

use cutile_compiler::ast::SourceLocation;
use cutile_ir::Module;
use cutile_ir::ir::{Location, OpId};

/// The place of the first op that a message of the writer can be about.
pub fn op_at_fault(ir: &Module, message: &str) -> Option<SourceLocation> {
    // "missing attribute 'rounding' on op DivI", "operand .. not found .. for op DivI"
    let opcode = message.rsplit_once(" op ")?.1;
    let opcode = opcode.split(|c: char| !c.is_alphanumeric()).next()?;
    let attribute = message
        .split_once("missing attribute '")
        .and_then(|(_, rest)| rest.split('\'').next());
    let mut queue: Vec<OpId> = ir.functions.iter().rev().copied().collect();
    while let Some(id) = queue.pop() {
        let op = ir.op(id);
        let lacks = |name: &str| !op.attributes.iter().any(|(have, _)| have == name);
        if format!("{:?}", op.opcode) == opcode && attribute.is_none_or(lacks) {
            return innermost(&op.location);
        }
        for region in op.regions.iter().rev() {
            for block in ir.region(*region).blocks.iter().rev() {
                queue.extend(ir.block(*block).ops.iter().rev());
            }
        }
    }
    None
}

/// Where the op itself was written, not where the function it is in was called.
fn innermost(location: &Location) -> Option<SourceLocation> {
    match location {
        Location::Unknown => None,
        Location::FileLineCol {
            filename,
            line,
            column,
        } => Some(SourceLocation::new(
            filename.clone(),
            *line as usize,
            *column as usize,
        )),
        Location::DebugInfo(info) => Some(SourceLocation::new(
            info.filename.clone(),
            info.line as usize,
            info.column as usize,
        )),
        Location::CallSite { callee, .. } => innermost(callee),
    }
}
