//! Rewrites a source file so that each place where it can be made wrong chooses at run time: `a < b` becomes
//! `if on(7) { a <= b } else { a < b }`. One build then holds every wrong form, and one number turns on one of them.
//!
//! Forms: a comparison moved by one or turned around, another arithmetic operator, a condition left out or negated, a number one
//! more, one less, doubled or halved, a statement left out, `if` in place of `while`, a range one longer or shorter, the
//! other of two methods (`min` and `max`), packets in place of bytes, and microseconds in place of nanoseconds. Loops and
//! closures count their turns, so that a form that goes on for ever ends.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, ExprBinary, Lit, Stmt, UnOp, parse_quote};

/// One way in which a file can be made wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Its name, which outlives changes elsewhere in the file: `codel.rs: CoDelModel::depart: replace < with <= (2)`.
    pub name: String,
    pub line: usize,
}

/// A rewritten file, the forms that it holds, numbered from the number given, and what was not looked into.
pub struct Rewritten {
    pub code: TokenStream,
    pub forms: Vec<Form>,
    /// Macros that were called, whose arguments stay as they are, and match arms, whose patterns do.
    pub macros: usize,
    pub patterns: usize,
}

/// Rewrites the text of `file`. Forms whose names `unviable` has do not compile and are left out.
///
/// # Errors
/// The text is not a Rust file.
pub fn rewrite(file: &str, text: &str, first: u32, unviable: &[&str]) -> syn::Result<Rewritten> {
    let mut syntax = syn::parse_file(text)?;
    let mut rewriter = Rewriter { file, unviable, next: first, ..Rewriter::default() };
    for item in &syntax.items {
        if let syn::Item::Const(constant) = item
            && matches!(&*constant.expr, Expr::Lit(lit) if matches!(lit.lit, Lit::Int(_) | Lit::Float(_)))
        {
            rewriter.constants.push(constant.ident.to_string());
        }
    }
    rewriter.visit_file_mut(&mut syntax);
    let Rewriter { forms, macros, patterns, .. } = rewriter;
    Ok(Rewritten { code: syntax.into_token_stream(), forms, macros, patterns })
}

#[derive(Default)]
struct Rewriter<'a> {
    file: &'a str,
    unviable: &'a [&'a str],
    next: u32,
    forms: Vec<Form>,
    /// How often each name was given in this function.
    seen: BTreeMap<String, usize>,
    owner: String,
    function: String,
    /// Numeric constants of the file.
    constants: Vec<String>,
    /// Variables that are declared before they are set.
    unset: Vec<String>,
    macros: usize,
    patterns: usize,
}

impl Rewriter<'_> {
    /// The number of a new form, unless it does not compile.
    fn form(&mut self, what: &str, line: usize) -> Option<u32> {
        let stem = format!("{}: {}{}: {what}", self.file, self.owner, self.function);
        let times = self.seen.entry(stem.clone()).or_insert(0);
        *times += 1;
        let name = if *times == 1 { stem } else { format!("{stem} ({times})") };
        if self.unviable.contains(&name.as_str()) {
            return None;
        }
        self.forms.push(Form { name, line });
        self.next += 1;
        Some(self.next - 1)
    }

    /// `sound` with other expressions in its place, each as a form; `sound` is rewritten already and they are not.
    fn choose(&mut self, sound: &Expr, others: Vec<(String, Expr)>, line: usize) -> Expr {
        let mut chosen = quote!({ #sound });
        for (what, other) in others {
            if let Some(id) = self.form(&what, line) {
                chosen = quote!({ if crate::forms::on(#id) { #other } else #chosen });
            }
        }
        parse_quote!((#chosen))
    }

    fn binary(&mut self, binary: &mut ExprBinary) -> Option<Expr> {
        let original = binary.clone();
        let line = binary.op.span().start().line;
        let sides = [is_of_tests(&original.left), is_of_tests(&original.right)];
        if sides != [false, false] {
            if matches!(binary.op, BinOp::And(_) | BinOp::Or(_))
                && !has_let(&original.left)
                && !has_let(&original.right)
            {
                for (side, of_tests) in [&mut binary.left, &mut binary.right].into_iter().zip(sides) {
                    if !of_tests || matches!(**side, Expr::Binary(_)) {
                        self.visit_expr_mut(side);
                    }
                }
            }
            return None;
        }
        visit_mut::visit_expr_binary_mut(self, binary);
        let (from, others) = alternatives(&binary.op)?;
        let mut forms: Vec<(String, Expr)> = Vec::new();
        for op in others {
            let other = ExprBinary { op, ..original.clone() };
            forms.push((format!("replace {from} with {}", spaceless(&other.op)), Expr::Binary(other)));
        }
        if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) {
            if has_let(&original.left) || has_let(&original.right) {
                return None;
            }
            forms.push((format!("leave out what follows {from}"), (*original.left).clone()));
            forms.push((format!("leave out what precedes {from}"), (*original.right).clone()));
        }
        let is_assignment = from.ends_with('=') && !["<=", ">=", "==", "!="].contains(&from);
        let sound = Expr::Binary(binary.clone());
        let chosen = self.choose(&sound, forms, line);
        Some(if is_assignment { parse_quote!({ let () = #chosen; }) } else { chosen })
    }

    fn literal(&mut self, literal: &syn::ExprLit) -> Option<Expr> {
        let line = literal.span().start().line;
        let of = |text: String| -> Option<Expr> { syn::parse_str(&text).ok() };
        let shown = spaceless(literal);
        let others = match &literal.lit {
            Lit::Int(int) => {
                let value: u128 = int.base10_parse().ok()?;
                let mut values = vec![value.checked_add(1)?];
                values.extend(value.checked_sub(1));
                values.into_iter().map(|value| format!("{value}{}", int.suffix())).collect()
            }
            Lit::Float(float) => {
                let value: f64 = float.base10_parse().ok()?;
                let values = if value == 0.0 { vec![1.0] } else { vec![2.0 * value, value / 2.0] };
                values.into_iter().map(|value| format!("{value:?}{}", float.suffix())).collect()
            }
            Lit::Bool(bool) => vec![(!bool.value).to_string()],
            _ => return None,
        };
        let forms: Vec<String> = others;
        let forms =
            forms.into_iter().filter_map(|text| Some((format!("replace {shown} with {text}"), of(text)?)));
        let forms = forms.collect();
        Some(self.choose(&Expr::Lit(literal.clone()), forms, line))
    }

    fn call_of_method(&mut self, call: &mut syn::ExprMethodCall) -> Option<Expr> {
        let original = call.clone();
        let line = call.method.span().start().line;
        visit_mut::visit_expr_method_call_mut(self, call);
        let name = original.method.to_string();
        let renamed = |to: &str| {
            let method = syn::Ident::new(to, original.method.span());
            Expr::MethodCall(syn::ExprMethodCall { method, ..original.clone() })
        };
        let mut forms: Vec<(String, Expr)> = Vec::new();
        for (one, two) in PAIRS {
            let other = if name == *one {
                two
            } else if name == *two {
                one
            } else {
                continue;
            };
            // Other methods have these names, of other arguments.
            let of_iterator = !["any", "take"].contains(one) || original.args.len() == 1;
            let of_closure = *one != "any" || matches!(original.args.first(), Some(Expr::Closure(_)));
            if !(of_iterator && of_closure) {
                continue;
            }
            forms.push((format!("replace {name} with {other}"), renamed(other)));
        }
        if NEGATED.contains(&name.as_str()) {
            forms.push((format!("negate {name}"), parse_quote!(!#original)));
        }
        if name == "ns" && original.args.is_empty() {
            forms.push(("microseconds for nanoseconds".into(), parse_quote!((#original / 1000))));
        }
        if forms.is_empty() { None } else { Some(self.choose(&Expr::MethodCall(call.clone()), forms, line)) }
    }

    /// A loop that counts its turns.
    fn counted(body: &mut syn::Block) {
        body.stmts.insert(0, parse_quote!(crate::forms::turn();));
    }

    fn while_loop(&mut self, mut whole: syn::ExprWhile) -> Expr {
        let line = whole.span().start().line;
        let id = self.form("if for while", line);
        visit_mut::visit_expr_while_mut(self, &mut whole);
        Self::counted(&mut whole.body);
        let Some(id) = id else { return Expr::While(whole) };
        let (condition, body, label) = (&whole.cond, &whole.body.stmts, &whole.label);
        parse_quote!({
            let mut is_first_turn = true;
            #label while (is_first_turn || !crate::forms::on(#id)) && #condition {
                is_first_turn = false;
                #(#body)*
            }
        })
    }

    fn range(&mut self, range: &mut syn::ExprRange) {
        let line = range.span().start().line;
        let end = range.end.clone();
        visit_mut::visit_expr_range_mut(self, range);
        if let (Some(end), Some(sound)) = (end, range.end.clone()) {
            let forms = vec![
                ("range one longer".into(), parse_quote!((#end) + 1)),
                ("range one shorter".into(), parse_quote!((#end) - 1)),
            ];
            range.end = Some(Box::new(self.choose(&sound, forms, line)));
        }
    }
}

impl VisitMut for Rewriter<'_> {
    fn visit_item_mut(&mut self, item: &mut syn::Item) {
        match item {
            // What is known as the program is compiled cannot choose.
            syn::Item::Const(_) | syn::Item::Static(_) | syn::Item::Macro(_) | syn::Item::Enum(_) => {}
            syn::Item::Mod(module) if module.attrs.iter().any(|attr| attr.path().is_ident("cfg")) => {}
            _ => visit_mut::visit_item_mut(self, item),
        }
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        let of = spaceless(&item.self_ty);
        let of = match &item.trait_ {
            Some((_, path, _)) => format!("<{of} as {}>::", spaceless(path)),
            None => format!("{of}::"),
        };
        let outer = std::mem::replace(&mut self.owner, of);
        visit_mut::visit_item_impl_mut(self, item);
        self.owner = outer;
    }

    fn visit_item_fn_mut(&mut self, item: &mut syn::ItemFn) {
        if item.sig.constness.is_none() && item.sig.ident != "reference" {
            self.function = item.sig.ident.to_string();
            self.visit_block_mut(&mut item.block);
        }
    }

    fn visit_impl_item_fn_mut(&mut self, item: &mut syn::ImplItemFn) {
        // What compares with the library is not part of the discipline.
        let compares = COMPARES.iter().any(|name| item.sig.ident == name);
        if item.sig.constness.is_none() && !compares {
            self.function = item.sig.ident.to_string();
            self.visit_block_mut(&mut item.block);
        }
    }

    fn visit_impl_item_const_mut(&mut self, _: &mut syn::ImplItemConst) {}
    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
    fn visit_attribute_mut(&mut self, _: &mut syn::Attribute) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}

    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.patterns += 1;
        if is_of_tests(&arm.pat) {
            return;
        }
        visit_mut::visit_arm_mut(self, arm);
    }

    fn visit_macro_mut(&mut self, _: &mut syn::Macro) {
        self.macros += 1;
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        visit_mut::visit_expr_closure_mut(self, closure);
        let body = &closure.body;
        closure.body = parse_quote!({ crate::forms::turn(); #body });
    }

    fn visit_expr_for_loop_mut(&mut self, whole: &mut syn::ExprForLoop) {
        visit_mut::visit_expr_for_loop_mut(self, whole);
        Self::counted(&mut whole.body);
    }

    fn visit_expr_loop_mut(&mut self, whole: &mut syn::ExprLoop) {
        visit_mut::visit_expr_loop_mut(self, whole);
        Self::counted(&mut whole.body);
    }

    fn visit_expr_if_mut(&mut self, whole: &mut syn::ExprIf) {
        let is_binary =
            matches!(&*whole.cond, Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)));
        if is_of_tests(&whole.cond) && !is_binary {
            // The sound form is what the condition does not choose.
            if matches!(&*whole.cond, Expr::Unary(_)) {
                self.visit_block_mut(&mut whole.then_branch);
            }
            if let Some((_, branch)) = &mut whole.else_branch {
                self.visit_expr_mut(branch);
            }
            return;
        }
        if only_fails(&whole.then_branch) {
            return;
        }
        let negated = match &*whole.cond {
            Expr::Path(_) | Expr::Field(_) | Expr::Call(_) | Expr::Macro(_) => Some(whole.cond.clone()),
            Expr::MethodCall(call) if !NEGATED.contains(&call.method.to_string().as_str()) => {
                Some(whole.cond.clone())
            }
            _ => None,
        };
        let line = whole.span().start().line;
        visit_mut::visit_expr_if_mut(self, whole);
        if let Some(condition) = negated {
            let forms = vec![("negate the condition".into(), parse_quote!(!(#condition)))];
            *whole.cond = self.choose(&whole.cond.clone(), forms, line);
        }
    }

    fn visit_expr_repeat_mut(&mut self, repeat: &mut syn::ExprRepeat) {
        // The number is a constant.
        self.visit_expr_mut(&mut repeat.expr);
    }

    fn visit_expr_let_mut(&mut self, bound: &mut syn::ExprLet) {
        self.visit_expr_mut(&mut bound.expr);
    }

    fn visit_expr_assign_mut(&mut self, assign: &mut syn::ExprAssign) {
        // The left side is a place.
        self.visit_expr_mut(&mut assign.right);
    }

    fn visit_expr_reference_mut(&mut self, reference: &mut syn::ExprReference) {
        if !matches!(&*reference.expr, Expr::Field(_) | Expr::Path(_)) {
            visit_mut::visit_expr_reference_mut(self, reference);
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let line = expr.span().start().line;
        let new = match expr {
            Expr::Binary(binary) => self.binary(binary),
            Expr::Lit(literal) => self.literal(literal),
            Expr::MethodCall(call) => self.call_of_method(call),
            Expr::While(whole) => Some(self.while_loop(whole.clone())),
            Expr::Range(range) => {
                self.range(range);
                None
            }
            Expr::Unary(unary) => {
                let inner = (*unary.expr).clone();
                let what = match unary.op {
                    UnOp::Not(_) => Some("leave out !"),
                    UnOp::Neg(_) => Some("leave out -"),
                    _ => None,
                };
                visit_mut::visit_expr_unary_mut(self, unary);
                what.map(|what| self.choose(&Expr::Unary(unary.clone()), vec![(what.into(), inner)], line))
            }
            Expr::Call(call) if is_named(&call.func, "bytes") && call.args.len() == 1 => {
                let of = call.args.first().cloned();
                of.map(|of| {
                    let packets = vec![("packets for bytes".into(), parse_quote!(((#of).len() as u64)))];
                    self.choose(expr, packets, line)
                })
            }
            Expr::Field(field) if spaceless(field).ends_with(".meta.len") => {
                let packets = vec![("packets for bytes".into(), parse_quote!(1_u32))];
                Some(self.choose(expr, packets, line))
            }
            Expr::Path(path)
                if path.path.get_ident().is_some_and(|i| self.constants.contains(&i.to_string())) =>
            {
                let forms = vec![
                    (format!("double {}", spaceless(path)), parse_quote!((#path + #path))),
                    (format!("halve {}", spaceless(path)), parse_quote!((#path / (#path + #path) * #path))),
                ];
                let forms = forms.into_iter().take(1).collect();
                Some(self.choose(expr, forms, line))
            }
            _ => {
                visit_mut::visit_expr_mut(self, expr);
                None
            }
        };
        if let Some(new) = new {
            *expr = new;
        }
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        let last = block.stmts.len().saturating_sub(1);
        for stmt in &block.stmts {
            if let Stmt::Local(syn::Local { pat, init: None, .. }) = stmt {
                self.unset.push(spaceless(pat).trim_start_matches("mut").to_owned());
            }
        }
        for (at, stmt) in block.stmts.iter_mut().enumerate() {
            let line = stmt.span().start().line;
            let is_rounding = match &*stmt {
                Stmt::Local(local) => is_of_tests(local) && !has_block(local),
                Stmt::Expr(expr, Some(_)) => {
                    matches!(expr, Expr::Assign(_) | Expr::Binary(_)) && is_of_tests(expr)
                }
                _ => false,
            };
            if is_rounding {
                continue;
            }
            let what = match stmt {
                // The first value of a variable has to be there.
                Stmt::Expr(Expr::Assign(assign), Some(_))
                    if self.unset.contains(&spaceless(&assign.left)) =>
                {
                    None
                }
                Stmt::Expr(Expr::Assign(assign), Some(_)) => {
                    Some(format!("leave out {} =", spaceless(&assign.left)))
                }
                Stmt::Expr(Expr::Binary(binary), Some(_)) => {
                    Some(format!("leave out {} {}", spaceless(&binary.left), spaceless(&binary.op)))
                }
                Stmt::Expr(Expr::MethodCall(call), Some(_)) => Some(format!("leave out {}()", call.method)),
                Stmt::Expr(Expr::Call(call), Some(_)) => {
                    Some(format!("leave out {}()", spaceless(&call.func)))
                }
                Stmt::Expr(Expr::Break(_) | Expr::Continue(_), Some(_)) => {
                    Some(format!("leave out {}", spaceless(&*stmt)))
                }
                // An `if` without `else` and without a value.
                Stmt::Expr(Expr::If(whole), _)
                    if whole.else_branch.is_none()
                        && at < last
                        && !only_fails(&whole.then_branch)
                        && !is_of_tests(&whole.cond) =>
                {
                    Some("leave out if".into())
                }
                _ => None,
            };
            let id = what.and_then(|what| self.form(&what, line));
            self.visit_stmt_mut(stmt);
            if let Some(id) = id {
                *stmt = parse_quote!(if !crate::forms::on(#id) { #stmt });
            }
        }
    }
}

/// Functions that compare values and draws with those of the library, or leave out a part of a discipline on purpose.
const COMPARES: &[&str] =
    &["same_state", "same_hosts", "go_on_with", "check_draw", "is_any", "has", "without"];

/// Whether this is about a wrong form that has a name, or about the rounding that a comparison allows.
fn is_of_tests(tokens: &impl ToTokens) -> bool {
    let text = spaceless(tokens);
    ["Broken::", "Part::", "is_mistaken", "is_broken", "rounding", "EPSILON"]
        .iter()
        .any(|part| text.contains(part))
}

/// A block that only says that the library is wrong.
fn only_fails(block: &syn::Block) -> bool {
    matches!(block.stmts.as_slice(), [Stmt::Expr(Expr::Return(_), _)])
        && spaceless(block).starts_with("{returnErr(")
}

/// Methods of which one stands for the other.
const PAIRS: &[(&str, &str)] = &[
    ("min", "max"),
    ("floor", "ceil"),
    ("first", "last"),
    ("any", "all"),
    ("min_by", "max_by"),
    ("min_by_key", "max_by_key"),
    ("take", "skip"),
    ("pop_front", "pop_back"),
    ("push_front", "push_back"),
];

/// Methods that say yes or no.
const NEGATED: &[&str] =
    &["is_empty", "is_some", "is_none", "is_some_and", "is_none_or", "contains", "contains_key"];

/// A binary operator, and those that stand for it.
fn alternatives(op: &BinOp) -> Option<(&'static str, Vec<BinOp>)> {
    let (from, to): (_, &[&str]) = match op {
        BinOp::Lt(_) => ("<", &["<=", ">="]),
        BinOp::Le(_) => ("<=", &["<", ">"]),
        BinOp::Gt(_) => (">", &[">=", "<="]),
        BinOp::Ge(_) => (">=", &[">", "<"]),
        BinOp::Eq(_) => ("==", &["!="]),
        BinOp::Ne(_) => ("!=", &["=="]),
        BinOp::Add(_) => ("+", &["-", "*"]),
        BinOp::Sub(_) => ("-", &["+", "/"]),
        BinOp::Mul(_) => ("*", &["/", "+"]),
        BinOp::Div(_) => ("/", &["*", "%"]),
        BinOp::Rem(_) => ("%", &["/"]),
        BinOp::And(_) => ("&&", &["||"]),
        BinOp::Or(_) => ("||", &["&&"]),
        BinOp::AddAssign(_) => ("+=", &["-=", "*="]),
        BinOp::SubAssign(_) => ("-=", &["+=", "/="]),
        BinOp::MulAssign(_) => ("*=", &["/=", "+="]),
        BinOp::DivAssign(_) => ("/=", &["*="]),
        BinOp::Shl(_) => ("<<", &[">>"]),
        BinOp::Shr(_) => (">>", &["<<"]),
        BinOp::BitXor(_) => ("^", &["|"]),
        BinOp::BitAnd(_) => ("&", &["|"]),
        BinOp::BitOr(_) => ("|", &["&"]),
        _ => return None,
    };
    Some((from, to.iter().filter_map(|op| syn::parse_str(op).ok()).collect()))
}

fn has_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether a variable gets the value of a longer expression, parts of which are of the discipline.
fn has_block(local: &syn::Local) -> bool {
    let value = local.init.as_ref().map(|init| &*init.expr);
    matches!(value, Some(Expr::If(_) | Expr::Match(_) | Expr::Block(_) | Expr::Closure(_)))
}

fn is_named(function: &Expr, name: &str) -> bool {
    matches!(function, Expr::Path(path) if path.path.is_ident(name))
}

fn spaceless(tokens: &impl ToTokens) -> String {
    tokens.to_token_stream().to_string().replace(' ', "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let rewritten = rewrite("x.rs", text, 1, &[]).unwrap();
        rewritten.forms.into_iter().map(|form| form.name).collect()
    }

    #[test]
    fn forms_are_named_by_function_and_change() {
        let found =
            names("impl A { fn f(&mut self) { self.count = 0; if self.a < self.b { self.c += 1; } } }");
        let expected = [
            "leave out self.count =",
            "replace 0 with 1",
            "replace < with <=",
            "replace < with >=",
            "leave out self.c +=",
            "replace 1 with 2",
            "replace 1 with 0",
            "replace += with -=",
            "replace += with *=",
        ];
        assert_eq!(found, expected.map(|what| format!("x.rs: A::f: {what}")));
    }

    #[test]
    fn the_sound_form_is_what_is_left() {
        let rewritten = rewrite("x.rs", "fn f(a: u8, b: u8) -> bool { a < b }", 5, &[]).unwrap();
        let code = rewritten.code.to_string().replace(' ', "");
        assert!(
            code.contains("ifcrate::forms::on(6u32){a>=b}else{ifcrate::forms::on(5u32){a<=b}else{a<b}}"),
            "{code}"
        );
        let none = rewrite("x.rs", "const A: u8 = 1; fn reference() { g(A + 1); }", 1, &[]).unwrap();
        assert!(none.forms.is_empty());
    }

    #[test]
    fn one_that_does_not_compile_is_left_out() {
        let rewritten = rewrite("x.rs", "fn f() { a == b }", 1, &["x.rs: f: replace == with !="]).unwrap();
        assert!(rewritten.forms.is_empty());
    }
}
