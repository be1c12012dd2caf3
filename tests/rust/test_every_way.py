"""Written on every way: outputs and tensors of data memory behind branches, loops that may not run, early returns.

Each kernel stands for a class; what is not written on some way is refuted where a run can take that way, unknown where
that is not certain, and never proved.
"""

# ruff: noqa: E501  (kernels)

import pytest
from kernels import plan, verdicts

HBM = "HbmTensor<i8, Chip, m![A, B]>"
DM = "DmTensor<i8, Chip, Cluster, m![A], m![B]>"
WIDE = "axes![W = 8192, V = 4096];\n"


def copy(start: str, to: str = "", into: str = "y") -> str:
    return (
        f"x.view().tile::<m![B], 16, m![A, B = 16 # 64]>({start})"
        f".to_hbm_view(&mut ctx.tdma, {into}.view_mut().tile::<m![B], 16, m![A, B = 16 #{{!}} 64]>({to or start}));"
    )


def kernel(lines: str, more: str = "", before: str = "", result: str = "y") -> str:
    made = HBM.replace("HbmTensor<", "HbmTensor::<")
    return (
        f"{before}\n#[device(chip = 1)]\nfn f(ctx: &mut Context, x: &{HBM}, {more}) -> {HBM} {{\n"
        f"    let mut y = {made}::new();\n    {lines}\n    {result}\n}}\n"
    )


ALL = "x.view().to_hbm_view(&mut ctx.tdma, y.view_mut());"
EACH = copy("16 * i")
LOAD = "x.view().to_dm_view(&mut ctx.tdma, d.view_mut());"
STORE = "d.view().to_hbm_view(&mut ctx.tdma, y.view_mut());"
NEW = f"let mut d = {DM.replace('DmTensor<', 'DmTensor::<')}::new();"
HELP = f"fn help(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) {{ if c {{ {ALL} }} }}"
HELP_LATE = f"fn help(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, c: bool) {{ if c {{ return; }} {ALL} }}"
HALF = "x.view().tile::<m![B], 32, m![A, B = 32 # 64]>(0).to_dm_view(&mut ctx.tdma, d.view_mut().tile::<m![B], 32, m![B = 32 #{!} 64]>(0));"
READ = "d.view().tile::<m![B], 32, m![B = 32 # 64]>(%s).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![B], 32, m![A, B = 32 #{!} 64]>(%s));"
GUARD = f"fn part<const O: usize>(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ if O + 16 <= 64 {{ {copy('O')} }} }}"

PROVED = [
    (f"if c {{ {ALL} }} else {{ {ALL} }}", "c: bool", ""),
    (f"if c {{ {ALL} }} if !c {{ {ALL} }}", "c: bool", ""),
    (f"if n < 5 {{ {ALL} }} if n >= 5 {{ {ALL} }}", "n: usize", ""),
    (f"match n {{ 0 => {{ {ALL} }} 1 => {{ {ALL} }} _ => {{ {ALL} }} }}", "n: usize", ""),
    (f"match c {{ true => {{ {ALL} }} false => {{ {ALL} }} }}", "c: bool", ""),
    (f"match n {{ 0 => {{ {ALL} }} _ => panic!(\"no\"), }}", "n: usize", ""),
    (f"if c {{ panic!(\"no\"); }} {ALL}", "c: bool", ""),
    (f"{ALL} if c {{ return y; }} {ALL}", "c: bool", ""),
    (f"if c {{ {ALL} return y; }} {ALL}", "c: bool", ""),
    (f"{ALL} for i in 0..n {{ {ALL} }}", "n: usize", ""),
    (f"if c {{ {copy('0')} {copy('16')} }} else {{ {copy('16')} {copy('0')} }} {copy('32')} {copy('48')}", "c: bool", ""),
    (f"for i in 0..4 {{ if c {{ {EACH} }} else {{ {EACH} }} }}", "c: bool", ""),
    (f"for i in 0..4 {{ if n < i {{ {EACH} }} else {{ {EACH} }} }}", "n: usize", ""),
    (f"for i in 0..9 {{ if i == 4 {{ break; }} {EACH} }}", "", ""),
    (f"for i in 0..8 {{ if i >= 4 {{ continue; }} {EACH} }}", "", ""),
    (f"let mut i = 0; while i < 4 {{ if c {{ {EACH} }} else {{ {EACH} }} i += 1; }}", "c: bool", ""),
    (f"loop {{ {ALL} if c {{ break; }} }}", "c: bool", ""),
    (f"{NEW} if c {{ {LOAD} }} else {{ {LOAD} }} {STORE}", "c: bool", ""),
    (f"{NEW} {LOAD} if c {{ {STORE} }} else {{ {ALL} }}", "c: bool", ""),
    (f"{NEW} if c {{ {LOAD} {STORE} }} else {{ {ALL} }}", "c: bool", ""),
    (f"{NEW} if c {{ {LOAD} }} {ALL} if c {{ {STORE} }}", "c: bool", ""),
    ("help(ctx, x, &mut y, c); help(ctx, x, &mut y, !c); " + ALL, "c: bool", HELP),
    (f"for i in 0..4 {{ {copy('8 * i + 8 * i')} }}", "", ""), (f"for i in 0..2 {{ for j in 0..2 {{ {copy('32 * i + 16 * j')} }} }}", "", ""),
    (f"for i in 0..4 {{ {copy('48 - 16 * i')} }}", "", ""),
    ("help(ctx, x, &mut y, true);", "", HELP), ("help(ctx, x, &mut y, false);", "", HELP_LATE),
    ("part::<0>(ctx, x, &mut y); part::<16>(ctx, x, &mut y); part::<32>(ctx, x, &mut y); part::<48>(ctx, x, &mut y); part::<64>(ctx, x, &mut y);", "", GUARD),
    (f"for i in 0..0 {{ {EACH} }} {ALL}", "", ""),
    (f"let mut i = 0; loop {{ if i >= 4 {{ break; }} {EACH} i += 1; }}", "", ""),
    (f"let mut i = 0; loop {{ {EACH} i = i + 1; if i == 4 {{ break; }} }}", "", ""),
    (f"let mut s = 64; while s > 0 {{ s -= 16; {copy('s')} }}", "", ""),
    (f"let mut i = 0; while i < 8 {{ i += 1; if i > 4 {{ continue; }} {copy('16 * i - 16')} }}", "", ""),
    (f"'a: {{ {ALL} if c {{ break 'a; }} {ALL} }}", "c: bool", ""), (f"assert!(c); if c {{ {ALL} }}", "c: bool", ""),
    (f"assert!(n > 0); for i in 0..n {{ {ALL} }}", "n: usize", ""),
    (f"for i in 0..n(64) {{ {EACH} }}", "", "const fn n(k: usize) -> usize { let w = 16; let r = k / w; if r > 9 { 1 } else { r } }"),
    (f"for i in 0..n(64) {{ {EACH} }}", "", "const fn n(k: usize) -> usize { let mut c = 0; let mut r = 0; while c < k { c += 16; r += 1; } r }"),
    (f"match N {{ 0..=3 => {{ {ALL} }} _ => {{ {copy('48')} }} }}", "", "const N: usize = 2;"),
    (f"match N {{ K => {{ {ALL} }} _ => {{ {copy('48')} }} }}", "", "const N: usize = 2; const K: usize = 2;"),
    (f"if N > 0 {{ {ALL} }} else {{ {copy('48')} }}", "", "const N: usize = 2;"),
    (f"{ALL} {NEW} {HALF} {READ % (0, 0)}", "", ""),
]  # fmt: skip
REFUTED = [
    (f"if c {{ {ALL} }}", "c: bool", "", "`c` does not hold"),
    (f"if !c {{ {ALL} }}", "c: bool", "", "`c` holds"),
    (f"if n == 3 {{ {ALL} }}", "n: usize", "", "`n == 3` does not hold"),
    (f"if n > 3 {{ {ALL} }}", "n: usize", "", "`n <= 3` holds"),
    (f"if c {{ if b {{ {ALL} }} else {{ {ALL} }} }}", "c: bool, b: bool", "", "`c` does not hold"),
    (f"if c {{ {ALL} }} else if b {{ {ALL} }}", "c: bool, b: bool", "", "does not hold"),
    (f"match n {{ 0 => {{ {ALL} }} 1 => {{ {ALL} }} _ => {{}} }}", "n: usize", "", "`n` is none of the others"),
    (f"match c {{ true => {{ {ALL} }} false => {{}} }}", "c: bool", "", "`c` is `false`"),
    (f"for i in 0..n {{ {ALL} }}", "n: usize", "", "takes no turn"),
    (f"let mut i = 0; while i < n {{ {ALL} i += 1; }}", "n: usize", "", "takes no turn"),
    (f"if c {{ return y; }} {ALL}", "c: bool", "", "`c` holds"),
    (f"if c {{ {copy('0')} }} {copy('16')} {copy('32')} {copy('48')}", "c: bool", "", "`c` does not hold"),
    (f"for i in 0..4 {{ if c {{ {EACH} }} }}", "c: bool", "", "`c` does not hold"),
    (f"for i in 0..4 {{ if c {{ break; }} {EACH} }}", "c: bool", "", "`c` holds"),
    (f"for i in 0..4 {{ if c {{ continue; }} {EACH} }}", "c: bool", "", "`c` holds"),
    (f"for i in 0..9 {{ if i == 3 {{ break; }} {EACH} }}", "", "", "never written"),
    (f"for i in 0..4 {{ if i == 1 {{ continue; }} {EACH} }}", "", "", "never written"),
    (f"{NEW} if c {{ {LOAD} }} {STORE}", "c: bool", "", "`c` does not hold"),
    (f"{NEW} for i in 0..n {{ {LOAD} }} {STORE}", "n: usize", "", "takes no turn"),
    (f"{NEW} {STORE} {LOAD}", "", "", "read here"),
    ("help(ctx, x, &mut y, c);", "c: bool", HELP, "`c` does not hold"),
    ("help(ctx, x, &mut y, false);", "", HELP, "nothing"),
    ("help(ctx, x, &mut y, c);", "c: bool", HELP_LATE, "`c` holds"),
    ("part::<0>(ctx, x, &mut y); part::<16>(ctx, x, &mut y); part::<32>(ctx, x, &mut y); part::<64>(ctx, x, &mut y);", "", GUARD, "never written"),
    (f"for i in 0..4 {{ {copy('8 * i')} }}", "", "", ""), (f"for i in 0..2 {{ {copy('16 * i + 16 * i')} }}", "", "", "never written"),
    (f"for i in 0..n {{ {EACH} }}", "n: usize", "", "takes no turn"),
    (f"let mut i = 0; loop {{ if i >= 3 {{ break; }} {EACH} i += 1; }}", "", "", "never written"),
    (f"let mut s = 64; while s > 16 {{ s -= 16; {copy('s')} }}", "", "", "never written"),
    (f"let mut i = 0; while i < 4 {{ if c {{ {EACH} }} i += 1; }}", "c: bool", "", "`c` does not hold"),
    (f"'a: {{ if c {{ break 'a; }} {ALL} }}", "c: bool", "", "`c` holds"),
    (f"assert!(b); if c {{ {ALL} }}", "c: bool, b: bool", "", "`c` does not hold"),
    (f"for i in 0..n(64) {{ {EACH} }}", "", "const fn n(k: usize) -> usize { let w = 16; let r = k / w; r - 1 }", "never written"),
    (f"for i in 0..4 {{ for j in 0..i {{ {EACH} }} }}", "", "", "never written"),
    (f"{ALL} {NEW} {HALF} {READ % (32, 32)}", "", "", "never written"),
]  # fmt: skip
UNKNOWN = [
    (f"if ready(x) {{ {ALL} }}", "", ""), (f"if let Some(k) = o {{ {ALL} }}", "o: Option<usize>", ""),
    (f"let mut i = 0; while i < 4 {{ {EACH} i = next(i); }}", "", ""),
    (f"{copy('n')} {copy('16')} {copy('32')} {copy('48')}", "n: usize", ""),
    (f"let mut c = c; if c {{ {ALL} }} c = !c; if !c {{ {ALL} }}", "c: bool", ""),
    (f"c.then(|| {{ {ALL} }});", "c: bool", ""), (f"let Some(k) = o else {{ return y; }}; {ALL}", "o: Option<usize>", ""),
    (f"let mut i = 0; if c {{ i += 4; }} while i < 4 {{ {ALL} i += 1; }}", "c: bool", ""),
    (f"let mut i = 0; while i < 2 {{ i += 1; }} while i < 2 {{ {ALL} i += 1; }}", "", ""),
    (f"let mut i = 0; bump(&mut i); while i < 2 {{ {ALL} i += 1; }}", "", ""),
    (f"for s in v.iter() {{ {ALL} }}", "v: Vec<usize>", ""),
]  # fmt: skip


PUT = f"fn put(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) -> bool {{ {ALL} true }}"
ASK = f"fn ask(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, o: Option<usize>) -> Option<()> {{ %s Some(()) }}"
BUMP = "macro_rules! bump { ($v:ident) => { $v += 4; } }"
Z = f"let mut z = {HBM.replace('HbmTensor<', 'HbmTensor::<')}::new();"
UNKNOWN += [
        ("let _ = ask(ctx, x, &mut y, o);", "o: Option<usize>", ASK % f"let k = o?; {ALL}"),
    ("let _ = ask(ctx, x, &mut y, o);", "o: Option<usize>", ASK % f"for i in 0..4 {{ o?; {EACH} }}"),
    (f"let mut i = 0; (i, _) = (4, 0); while i < 4 {{ {EACH} i += 1; }}", "", ""), (f"let mut i = 0; while i < 4 {{ {EACH} i += 1; (i, _) = (4, 0); }}", "", ""),
    (f"{BUMP} let mut i = 0; bump!(i); while i < 4 {{ {EACH} i += 1; }}", "", ""), (f"{BUMP} let mut i = 0; while i < 4 {{ {EACH} i += 1; bump!(i); }}", "", ""),
    (f"let mut i = 0; let ref mut p = i; *p = 4; while i < 4 {{ {EACH} i += 1; }}", "", ""), (f"let mut i = 0; let p = &mut i; *p += 4; while i < 4 {{ {EACH} i += 1; }}", "", ""),
    (f"let mut i = 0; let mut f = || {{ i += 4; }}; f(); while i < 4 {{ {EACH} i += 1; }}", "", ""), (f"let mut i = 0; while i < 4 {{ {EACH} let mut i = 0; i += 1; }}", "", ""),
    (f"let mut i = 4; {{ let mut i = 0; }} while i < 4 {{ {EACH} i += 1; }}", "", ""), (f"let mut i = 0; /* let mut i = 0 */ i = 4; while i < 4 {{ {EACH} i += 1; }}", "", ""),
    (f"let mut i = 0; i.bump(); while i < 4 {{ {EACH} i += 1; }}", "", ""),
        (f"let f = async {{ {ALL} }};", "", ""), (f"let it = (0..4).map(|i| {{ {EACH} i }});", "", ""), (f"(0..4).all(|i| {{ {EACH} i == 0 }});", "", ""),
    (f"if *c {{ {ALL} }} flip(c); if *c {{ }} else {{ {ALL} }}", "c: &mut bool", ""), (f"if s.f {{ {ALL} }} flip(s); if s.f {{ }} else {{ {ALL} }}", "s: &mut S", "struct S { f: bool }"),
    (f"let s = make(); if s.f {{ {ALL} }} flip(&s); if s.f {{ }} else {{ {ALL} }}", "", "struct S { f: bool }"), (f"while let Some(k) = v.pop() {{ {EACH} }}", "mut v: Vec<usize>", ""),
]  # fmt: skip
PROVED += [
    (f"let mut i = 0; while i < 4 {{ {EACH} assert!(i < 9); i += 1; }}", "", ""), (f"let mut i = 0; let n = i.min(3) + 2; while (i < 4) {{ {EACH} i += 1; }}", "", ""),
    ("let _ = ask(ctx, x, &mut y, o);", "o: Option<usize>", ASK % f"{ALL} let k = o?;"), (f"let v: Vec<usize> = (0..4).map(|i| {{ {EACH} i }}).collect();", "", ""),
    (f"let ok = {{ {ALL} c }} && b;", "c: bool, b: bool", ""), (f"if s.f {{ {ALL} }} if s.f {{ }} else {{ {ALL} }}", "s: &S", "struct S { f: bool }"),
    (f"{Z} let mut t = [y, z]; {ALL.replace('y.view', 't[1].view')} let [a, b] = t; let y = b;", "", ""),
]  # fmt: skip
REFUTED += [
    (f"let ok = c && {{ {ALL} true }};", "c: bool", "", "`c` does not hold"),
    (f"let ok = c || {{ {ALL} true }};", "c: bool", "", "`c` holds"),
    ("if c && put(ctx, x, &mut y) { }", "c: bool", PUT, "`c` does not hold"),
    (f"macro_rules! stop {{ () => {{ break; }} }} let mut i = 0; while i < 4 {{ {EACH} if c {{ stop!(); }} i += 1; }}", "c: bool", "", "`c` holds"),
    (f"let mut i = 0; while i < 3 {{ {EACH} assert!(i < 9); i += 1; }}", "", "", "never written"),
    (f"{Z} let mut t = [y, z]; {ALL.replace('y.view', 't[0].view')} let [a, b] = t; let y = b;", "", "", "nothing ever writes it"),
    ("", "", f"fn g(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ {ALL} }}", "nothing ever writes it"), ("", "", "", "nothing ever writes it"),
    ("if c { return y; }", "c: bool", "", "nothing ever writes it"),
]  # fmt: skip
COMMIT = "ctx.main.begin(x2.view()).fetch::<m![1], m![B]>().collect::<m![B / 32], m![B % 32]>().commit_trim::<m![B % 32]>().commit_view(d.view_mut());"
HALVES = [
    f"ctx.main.begin(x2.view().tile::<m![B], 32, m![B = 32 # 64]>({at})).fetch::<m![1], m![B = 32]>().collect::<m![1], m![B = 32]>()"
    f".commit_trim::<m![B = 32]>().commit_view(d.view_mut().tile::<m![B], 32, m![B = 32 #{{!}} 64]>({at}));"
    for at in (0, 32)
]
TU = f"let x2: {DM} = x.to_dm(&mut ctx.tdma); {NEW}"
PROVED += [
    (f"{TU} {COMMIT} {STORE}", "", ""), (f"{TU} {HALVES[0]} {HALVES[1]} {STORE}", "", ""),
    (f"{TU} if c {{ {COMMIT} }} else {{ {HALVES[1]} {HALVES[0]} }} {STORE}", "c: bool", ""),
]  # fmt: skip
REFUTED += [
    (f"{TU} {HALVES[1]} {STORE}", "", "", "8,192 of 16,384 elements of `d`"), (f"{TU} if c {{ {COMMIT} }} {STORE}", "c: bool", "", "`c` does not hold"),
    (f"{TU} {STORE} {COMMIT}", "", "", "nothing writes it before"), (f"{TU} {COMMIT}", "", "", "nothing ever writes it"),
]  # fmt: skip
CFG = "struct Cfg { n: usize } impl Cfg { fn less(&mut self) { self.n -= 1; } } fn less(c: &mut Cfg) { c.n -= 1; }"
PUTS = f"struct Kern; impl Kern {{ fn put(&self, ctx: &mut Context, x: &{HBM}, y: &mut {HBM}) {{ for i in 0..%s {{ {EACH} }} }} }}"
QUAD = f"'o: for i in 0..2 {{ for j in 0..2 {{ {copy('32 * i + 16 * j')} if i == 0 && j == 1 {{ %s 'o; }} }} }}"
GO = f"fn go(ctx: &mut Context, x: &{HBM}, y: &mut {HBM}, i: usize) {{ if i < 4 {{ {EACH} go(ctx, x, y, i + 1); }} }}"
EITHER = "#[cfg(%s)] const N: usize = 4; #[cfg(not(%s))] const N: usize = %s;"
PASSED = f"{Z} {ALL.replace('y.view', 'z.view')} for i in 0..4 {{ if b {{ continue; }} if c {{ return z; }} {EACH} }} "
INTO = HALF.replace("(0)", "(32 * i)")
TURNED = f"for i in 0..2 {{ {NEW} {INTO} {READ % ('%s', '32 * i')} }}"
FIRST, EACH_QUARTER, NEXT, LAST = (
    HALF.replace("32,", "16,").replace("= 32", "= 16").replace("(0)", f"({at})")
    for at in ("0", "16 * i", "16 * i + 16", "48")
)
QUARTER_READ = READ.replace("32,", "16,").replace("= 32", "= 16")
TWO = "let mut two = HbmTensor::<i8, Chip, m![A, B = 32]>::new(); d.view().tile::<m![B], 32, m![B = 32 # 64]>(16 * i).to_hbm_view(&mut ctx.tdma, two.view_mut());"
AHEAD = f"{NEW} {FIRST} for i in 0..3 {{ %s {NEXT} %s }} {STORE}"
PROVED += [
    (AHEAD % (QUARTER_READ % ("16 * i", "16 * i"), ""), "", ""), (AHEAD % ("", TWO), "", ""),
]  # fmt: skip
REFUTED += [
    (AHEAD % (TWO, ""), "", "", "where the loops around it begin, "),
    (f"{NEW} {LAST} for i in 0..3 {{ {EACH_QUARTER} {TWO} }} {STORE}", "", "", "where the loops around it begin, "),
    (TURNED % "32 - 32 * i", "", "", "where the loops around it begin, "),
]  # fmt: skip
PROVED += [
    (f"{PASSED} if b {{ {ALL} }}", "b: bool, c: bool", ""),
    (QUAD % "continue", "", ""), ("let k = Kern; k.put(ctx, x, &mut y);", "", PUTS % 4), (TURNED % "32 * i", "", ""),
    (f"for i in 0..N {{ {EACH} }}", "", EITHER % ("test", "test", 4)), (f"for i in 0..(260u64 as u16 as usize) / 65 {{ {EACH} }}", "", ""),
    (f"#[cfg(debug_assertions)] {{ {ALL} }} #[cfg(not(debug_assertions))] {{ {ALL} }}", "", ""),
]  # fmt: skip
REFUTED += [
    (f"{PASSED} if b {{ if !c {{ {ALL} }} }}", "b: bool, c: bool", "", "`c` holds and `b` holds"),
    (QUAD % "break", "", "", "never written"), (f"#[cfg(test)] {ALL}", "", "", "nothing ever writes it"),
    ("let k = Kern; k.put(ctx, x, &mut y);", "", PUTS % 3, "never written"), (f"for i in 0..N {{ {EACH} }}", "", EITHER % ("test", "test", 3), "never written"),
]  # fmt: skip
REFUTED += [(f"{NEW} {ALL} if c {{ {STORE} }}", "c: bool", "", "where `c` holds, nothing ever writes it")]
PROVED += [  # nothing writes it, and no run gets there
    (f"{NEW} {ALL} if n > 5 {{ if n < 3 {{ {STORE} }} }}", "n: usize", ""), (f"{NEW} {ALL} if n % 4 == 3 {{ if n & 1 == 0 {{ {STORE} }} }}", "n: u8", ""),
    (f"{NEW} {ALL} if n < m {{ if m < n {{ {STORE} }} }}", "n: i64, m: i64", ""), (f"{NEW} {ALL} match n {{ 0..=4 => {{ if n > 4 {{ {STORE} }} }} _ => {{}} }}", "n: usize", ""),
    (f"if n < 3 {{ {ALL} }} if n > 2 {{ {ALL} }}", "n: usize", ""), (f"if n <= 255 {{ {ALL} }}", "n: u8", ""),
]  # fmt: skip
REFUTED += [  # some run does: there is a number of which all conditions hold
    (f"{NEW} {ALL} if n > 3 {{ if n < 5 {{ {STORE} }} }}", "n: usize", "", "nothing ever writes it"), (f"{NEW} {ALL} if n % 4 == 3 {{ if n & 2 == 2 {{ {STORE} }} }}", "n: u8", "", "nothing ever writes it"),
    (f"{NEW} {ALL} if n < m {{ if m < 2 {{ {STORE} }} }}", "n: i64, m: i64", "", "nothing ever writes it"), (f"{NEW} {ALL} match n {{ 0..=4 => {{ if n > 3 {{ {STORE} }} }} _ => {{}} }}", "n: usize", "", "nothing ever writes it"),
    (f"if n < 3 {{ {ALL} }} if n > 3 {{ {ALL} }}", "n: usize", "", "`n < 3` does not hold"), (f"assert!(n > 0); for i in 1..n {{ {ALL} }}", "n: usize", "", "takes no turn"),
]  # fmt: skip
UNKNOWN += [  # nothing writes it, and no run is known to get there
    (f"{NEW} assert!(n > 5); assert!(n < 3); {STORE}", "n: usize", ""), (f"{NEW} {ALL} if n + 1 < 3 {{ if n > 5 {{ {STORE} }} }}", "n: usize", ""),
    (f"{NEW} {ALL} if n * n == 2 {{ {STORE} }}", "n: usize", ""),
    (f"{NEW} {ALL} if ready(x) {{ {STORE} }}", "", ""),
]  # fmt: skip
UNKNOWN += [
    (f"let mut c = Cfg {{ n: 4 }}; {less} for i in 0..c.n {{ {EACH} }}", "", CFG) for less in ("c.n = 3;", "c.less();", "less(&mut c);")
]  # fmt: skip
UNKNOWN += [
    (f"let n = Cell::new(4); n.set(3); for i in 0..n.get() {{ {EACH} }}", "", ""),
    (f"let mut v = vec![1, 2]; v.clear(); for i in v {{ {ALL} }}", "", ""), (f"#[cfg(debug_assertions)] {ALL}", "", ""),
    (f"for i in 0..N {{ {EACH} }}", "", EITHER % ("debug_assertions", "debug_assertions", 3)), ("let g: fn() = part; g(ctx, x, &mut y);", "", ""),
    (f"#[cfg(not(debug_assertions))] let n = 3; #[cfg(debug_assertions)] let n = 4; for i in 0..n {{ {EACH} }}", "", ""),
    (f"{Z} let mut t = [y, z]; let (l, r) = t.split_at_mut(1); {ALL.replace('y.view', 'l[0].view')} let [y, z] = t;", "", ""),
]  # fmt: skip
UNKNOWN += [
    ("go(ctx, x, &mut y, 0);", "", GO),
    (f"if cfg!(feature = \"q\") {{ {ALL} }} fill(x, &mut y);", "", ""),
    (f"{Z} {ALL} std::mem::swap(&mut y, &mut z);", "", ""), (f"{ALL} let z = std::mem::take(&mut y);", "", ""),
]  # fmt: skip
UNKNOWN += [  # which tensor is meant is open, and nothing but this text writes one
    (f"{Z} let (a, mut b) = (y, z); {ALL.replace('y.view', 'b.view')} y = a;", "", ""),
    (f"let mut t = vec![{HBM.replace('HbmTensor<', 'HbmTensor::<')}::new(); 2]; {ALL.replace('y.view', 't[0].view')} let y = t.pop().unwrap();", "", ""),
    (f"{Z} let mut t = [y, z]; {ALL.replace('y.view', 't[n].view')} let [a, b] = t; let y = a;", "n: usize", ""),
]  # fmt: skip
GIVEN = [("fill(x, &mut y); " + NEW + LOAD, "", "")]
UNKNOWN += [(f"{Z} let w = if c {{ &mut z }} else {{ &mut y }}; {ALL.replace('y.view', 'w.view')}", "c: bool", "")]
MADE = "let {} = (0..4).map(|i| {{ {E} {} }}).{};".replace("{E}", EACH.replace("{", "{{").replace("}", "}}"))
PROVED += [
    (MADE.format(*one), "", "")
    for one in (
        ("v: Vec<Option<usize>>", "None", "collect()"),
        ("_", "i", "collect::<Vec<usize>>()"),
        ("s: usize", "i", "sum()"),
    )
]
UNKNOWN += [  # `Option` and `Result` are made of the elements up to the first that is none
    (MADE.format(*one), "", "") for one in (
        ("v: Option<Vec<usize>>", "None", "collect()"), ("v", "Err::<usize, ()>(())", "collect::<Result<Vec<_>, _>>()"), ("s: Option<usize>", "None", "sum()"),
        ("p: Result<usize, ()>", "Err(())", "product()"),
    )
]  # fmt: skip
UNKNOWN += [(MADE.format("v: Vec<usize>", "None", "collect()"), "", "type Vec<T> = Option<T>;")]
EIGHT = f"'o: for i in 0..8 {{{{ {{}} {EACH.replace('{', '{{').replace('}', '}}')} {{}} }}}}"
PROVED += [
    (EIGHT.format(*one), "", "")
    for one in (("if i < 4 {", "}"), ("if i > 3 { break; }", ""), ("match i { 4..=7 => break, _ => {} }", ""))
]
PROVED += [  # turns whose tiles lie beyond the axis, which a condition keeps away
    (EIGHT.format(*one), "", "") for one in (("if (0..4).contains(&i) {", "}"), ("if matches!(i, 0..=3) {", "}"))
]  # fmt: skip
UNKNOWN += [  # the same, where it is not followed
    (f"{ALL} " + EIGHT.format(*one), more, "") for *one, more in (
        ("let ok = i < 4; if ok {", "}", ""), ("(i < 4).then(|| {", "});", ""),
        ("if let 0..=3 = i {", "}", ""), ("let 0..=3 = i else { continue; };", "", ""), ("for j in 0..2 { if i > 3 && j == 1 { break 'o; } }", "", ""),
        ("assert!(n <= 4); if i >= n { break; }", "", "n: usize"),
    )
]  # fmt: skip
REFUTED += [
    (EIGHT.format("", ""), "", "", "beyond the 64 positions"), (EIGHT.format("if c {", "}"), "c: bool", "", "beyond the 64 positions"), (f"{ALL} if n > 2 {{ {copy('64')} }}", "n: usize", "", "beyond the 64"),
]  # fmt: skip
AT_S = copy("s")
PROVED += [  # a number that a loop over a range or a list changes
    (f"let mut s = 0; for i in 0..4 {{ {AT_S} s += 16; }}", "", ""), (f"let mut s = 64; for _ in (0..4).rev() {{ s -= 16; {AT_S} }}", "", ""),
    (f"let mut s = 0; for w in [16, 16, 16, 16] {{ {AT_S} s += w; }}", "", ""), (f"let mut k = 0; for i in 0..8 {{ if k == 4 {{ break; }} {EACH} k += 1; }}", "", ""),
]  # fmt: skip
REFUTED += [
    (f"let mut s = 16; for i in 0..3 {{ {AT_S} s += 16; }}", "", "", "never written"), (f"let mut s = 0; for i in 0..4 {{ {AT_S} s = 16; }}", "", "", "never written"),
    (f"let mut s = 0; for i in 0..4 {{ s += 16; {AT_S} }}", "", "", "beyond the 64 positions"), (f"let mut k = 0; for i in 0..4 {{ if k == 3 {{ break; }} {EACH} k += 1; }}", "", "", "never written"),
]  # fmt: skip
UNKNOWN += [
    (f"let mut s = 0; for i in 0..4 {{ {AT_S} if c {{ continue; }} s += 16; }}", "c: bool", ""), (f"let mut s = 0; for i in 0..2 {{ for j in 0..2 {{ {AT_S} s += 16; }} s = 0; }}", "", ""),
    (f"let mut s = 0; for i in 0..2 {{ {AT_S} s += 16; }} for i in 0..2 {{ {AT_S} s += 16; }}", "", ""), (f"let mut s = 0; for i in 0..4 {{ {AT_S} bump(&mut s); }}", "", ""),
    (f"let mut s = 0; for i in 0..4 {{ let mut s = s; {AT_S} s += 16; }}", "", ""),
]  # fmt: skip
TYPED = "x.to_dm(&mut ctx.tdma)"
PROVED += [
    (f"let d = if c {{ {NEW} {LOAD} d }} else {{ {TYPED} }}; {STORE}", "c: bool", ""), (f"let d = if c {{ {TYPED} }} else {{ {NEW} {LOAD} d }}; {STORE}", "c: bool", ""),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "more", "before"), GIVEN)
def test_what_something_that_is_not_followed_may_write_is_a_condition_in_the_line(
    lines: str, more: str, before: str
) -> None:
    made = verdicts(plan(kernel(lines, more, before)))
    assert {v.status.value for v in made} == {"proved"}
    assert not all(made)
    assert any("writes all of" in given for v in made for given in v.conditions)
    assert any(v.bounds.startswith("if ") for v in made)


def found(lines: str, more: str, before: str) -> tuple[set[str], list[str]]:
    made = verdicts(plan(kernel(lines, more, before)))
    return {v.status.value for v in made}, [f.message for v in made for f in v.findings]


@pytest.mark.parametrize(("lines", "more", "before"), PROVED)
def test_what_is_written_on_every_way_is_proved(lines: str, more: str, before: str) -> None:
    made = verdicts(plan(kernel(lines, more, before)))
    assert all(v or v.claim.endswith("is empty") for v in made)
    status = {v.status.value for v in made}
    assert "refuted" not in status
    assert "proved" in status
    assert not [f for v in made for f in v.findings if "written" in f.message or "writes" in f.message]


@pytest.mark.parametrize(("lines", "more", "before", "way"), REFUTED)
def test_what_is_not_written_on_a_way_that_a_run_can_take_is_refuted(
    lines: str, more: str, before: str, way: str
) -> None:
    status, messages = found(lines, more, before)
    assert "refuted" in status
    assert any(way in one for one in messages)


@pytest.mark.parametrize(("lines", "more", "before"), UNKNOWN)
def test_a_way_that_is_not_certain_is_neither_proved_nor_refuted(lines: str, more: str, before: str) -> None:
    status, _ = found(lines, more, before)
    assert "unknown" in status
    assert "refuted" not in status


def buffers(into: str, out_of: str) -> str:
    return f"""axes![T = 4, P = 2, E = 64];
#[device(chip = 1)]
fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, T, E]>) -> HbmTensor<i8, Chip, m![A, T, E]> {{
    let mut y = HbmTensor::<i8, Chip, m![A, T, E]>::new();
    let mut d = DmTensor::<i8, Chip, Cluster, m![A], m![P, E]>::new();
    for i in 0..4 {{
        x.view().tile::<m![T], 1, m![A, 1 # 4, E]>(i).to_dm_view(&mut ctx.tdma, d.view_mut().tile::<m![P], 1, m![1 #{{!}} 2, E]>({into}));
        d.view().tile::<m![P], 1, m![1 # 2, E]>({out_of}).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![T], 1, m![A, 1 #{{!}} 4, E]>(i));
    }}
    y
}}"""


@pytest.mark.parametrize(("into", "out_of", "status"), [
    ("i & 1", "i & 1", "proved"), ("(i & 1) ^ 1", "1 ^ (i & 1)", "proved"), ("i & 1", "(i & 1) ^ 1", "refuted"), ("i >> 1", "i & 1", "refuted"),
    ("i % 2", "i % 2", "proved"), ("0", "0", "proved"), ("i % 2", "(i + 1) % 2", "refuted"), ("0", "1", "refuted"),
])  # fmt: skip
def test_of_two_halves_that_take_turns_the_one_that_is_read_was_written(into: str, out_of: str, status: str) -> None:
    assert status in {v.status.value for v in verdicts(plan(buffers(into, out_of)))}
    assert ("refuted" in {v.status.value for v in verdicts(plan(buffers(into, out_of)))}) == (status == "refuted")


@pytest.mark.parametrize(("into", "out_of", "proved"), [
    ("i / 2", "{ let j = i; j / 2 }", True), ("(i * 1) % 2", "(i * 1) % 2", True),
    ("i / 2", "{ let j = i; j % 2 }", False), ("i / 2", "(i * 1) % 2", False), ("i / 2", "(i + 1) / 2 % 2", False),
])  # fmt: skip
def test_windows_of_one_range_are_one_window_only_where_they_are_made_alike(into: str, out_of: str, proved: bool):
    """Slots 0, 0, 1, 1 and 0, 1, 0, 1: in the second turn slot 1 is read, which nobody wrote."""
    assert ({v.status.value for v in verdicts(plan(buffers(into, out_of)))} == {"proved"}) == proved


def wide(turns: int, tile: str, width: int) -> str:
    return f"""axes![W = {width}];
#[device(chip = 1)]
fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![A, W]>) -> HbmTensor<i8, Chip, m![A, W]> {{
    let mut y = HbmTensor::<i8, Chip, m![A, W]>::new();
    for i in 0..{turns} {{
        x.view().tile::<m![W], 8, m![A, W = 8 # {width}]>({tile}).to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![W], 8, m![A, W = 8 #{{!}} {width}]>({tile}));
    }}
    y
}}"""


@pytest.mark.parametrize("turns", [100, 1024, 65536])
def test_long_loops_over_large_tensors_are_counted(turns: int) -> None:
    assert {v.status.value for v in verdicts(plan(wide(turns, "8 * i", 8 * turns)))} == {"proved"}
    (found,) = verdicts(plan(wide(turns - 1, "8 * i", 8 * turns)))
    assert found.status.value == "refuted"
    assert f"W = {8 * turns - 8}" in found.findings[0].message


@pytest.mark.parametrize(("second", "status"), [((1 << 22) - 9, "proved"), ((1 << 22) - 10, "refuted")])
def test_uneven_tiles_of_a_tensor_of_any_size_are_counted(second: int, status: str) -> None:
    tiles = [
        f"x.view().tile::<m![W], {n}, m![A, W = {n} # 4194304]>({at})"
        f".to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![W], {n}, m![A, W = {n} #{{!}} 4194304]>({at}));"
        for at, n in ((0, 9), (9, second))
    ]
    text = wide(1, "0", 4194304)
    made = verdicts(plan(text[: text.index("    for ")] + "".join(tiles) + "\n    y\n}"))
    assert made[-1].status.value == status
    assert not made[-1].findings or made[-1].findings[0].values["position"] == 4194303


def grid(second: str) -> str:
    start = ">(64 * i).tile::<m![B], 16, m![A = 64 {0} 256, B = 16 {0} 64]>(16 * " + second + ")"
    return (
        "for i in 0..4 { for j in 0..4 { x.view().tile::<m![A], 64, m![A = 64 # 256, B]" + start.format("#")
        + ".to_hbm_view(&mut ctx.tdma, y.view_mut().tile::<m![A], 64, m![A = 64 #{!} 256, B]" + start.format("#{!}")
        + "); } }"
    )  # fmt: skip


def test_starts_that_one_loop_moves_are_a_diagonal_and_no_grid() -> None:
    assert found(grid("j"), "", "")[0] == {"proved"}
    status, messages = found(grid("i"), "", "")
    assert status == {"refuted"}
    assert any("never written" in one for one in messages)


@pytest.mark.parametrize(("turns", "at", "status"), [(2, "i", "proved"), (1, "i", "refuted"), (2, "0", "refuted")])
def test_tiles_of_clusters_are_counted(turns: int, at: str, status: str) -> None:
    made = verdicts(
        plan(f"""axes![N = 2, S = 256, E = 64];
#[device(chip = 1)]
fn f(ctx: &mut Context, x: &HbmTensor<i8, Chip, m![S, E]>) -> HbmTensor<i8, Chip, m![N, S, E]> {{
    let mut d = DmTensor::<i8, Chip, m![N], m![S], m![E]>::new();
    for i in 0..{turns} {{ x.view().to_dm_view(&mut ctx.tdma, d.view_mut().cluster_tile::<m![N], 1, m![1 #{{!}} 2]>({at})); }}
    d.to_hbm(&mut ctx.tdma)
}}""")
    )
    assert status in {v.status.value for v in made}
    assert ("refuted" in {v.status.value for v in made}) == (status == "refuted")


@pytest.mark.parametrize(("written", "status"), [(12, {"proved"}), (11, {"proved", "refuted"})])
def test_tiles_behind_many_conditions_that_come_twice_are_followed_each_by_itself(
    written: int, status: set[str]
) -> None:
    """There are 4,096 ways through the function."""
    tile = copy("@").replace("16", "1")
    first = "".join(f"if c{i} {{ {tile.replace('@', str(i))} }} " for i in range(12))
    again = "".join(f"if !c{i} {{ {tile.replace('@', str(i))} }} " for i in range(written))
    rest = "".join(tile.replace("@", str(i)) for i in range(12, 64))
    found = verdicts(plan(kernel(first + again + rest, ", ".join(f"c{i}: bool" for i in range(12)))))
    assert {one.status.value for one in found} == status
    if written < 12:
        assert found[-1].findings[0].message.startswith("where `c11` does not hold, 256 of 16,384 elements of `y`")


HELPER = f"fn make(ctx: &mut Context, x: &{HBM}, c: bool) -> {HBM} {{ let mut z = {HBM.replace('HbmTensor<', 'HbmTensor::<')}::new(); if c {{ {ALL.replace('y.', 'z.')} }} z }}"


@pytest.mark.parametrize(("given", "status"), [("true", "proved"), ("false", "refuted"), ("c", "refuted")])
def test_a_helper_is_judged_for_the_flags_that_its_callers_pass(given: str, status: str) -> None:
    made = verdicts(plan(kernel(f"let y = make(ctx, x, {given});", "c: bool", HELPER)))
    assert status in {v.status.value for v in made}
    assert ("refuted" in {v.status.value for v in made}) == (status == "refuted")


@pytest.mark.parametrize(("start", "status"), [("80", "refuted"), ("48", "proved")])
@pytest.mark.parametrize(("text", "before"), [
    ("if N > 0 {{ {all} }} else {{ {dead} }}", "const N: usize = 2;"), ("match N {{ 0..=3 => {{ {all} }} _ => {{ {dead} }} }}", "const N: usize = 2;"),
    ("for i in 0..0 {{ {dead} }} {all}", ""), ("if cfg!(feature = \"q\") {{ {dead} }} {all}", ""),
])  # fmt: skip
def test_what_never_runs_is_judged_as_if_it_did_and_says_so(text: str, before: str, start: str, status: str) -> None:
    made = verdicts(plan(kernel(text.format(all=ALL, dead=copy(start)), "", before)))
    dead = next(v for v in made if "run for these constants" in v.claim or v.conditions)
    assert dead.status.value == status
    assert {v.status.value for v in made if v is not dead} == {"proved"}


def test_an_instance_that_never_runs_counts_for_nothing_beside_one_that_does() -> None:
    calls = " ".join(f"part::<{start}>(ctx, x, &mut y);" for start in (0, 16, 32, 48, 64))
    (made,) = verdicts(plan(kernel(calls, "", GUARD)))
    assert made.status.value == "proved"
    assert "1 of 5 instances do not run for these constants" in made.claim
