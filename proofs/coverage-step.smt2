; claim: Every count, 0 < s <= w: if the inner loops reach every offset in [0, w), a loop n : s reaches every offset in
;   [0, (n - 1) s + w). With x = q s + r, counter q and offset r do it while q < n, else counter n - 1 and the offset
;   that is left.
; relied on by: dmaverify.prove.move.obligations.cover_claims
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/mapping.smt2#core/splits
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (<= s w) ==> (<= s (+ w 1))
; tamper: (core/loop-step w (- n 1) s) ==> (core/loop-step w n s)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/splits ((position Int) (size Int) (major Int) (minor Int)) Bool
  (and (= position (core/join major size minor)) (core/in-range minor size)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

(declare-const n Int)
(declare-const s Int)
(declare-const w Int)
(declare-const x Int)
(declare-const q Int)
(declare-const r Int)
(assert (< 0 n))
(assert (and (< 0 s) (<= s w)))
(assert (core/in-range x (core/loop-step w (- n 1) s)))
(assert (core/splits x s q r))
(assert (not (or
  (and (core/in-range q n) (core/in-range r w))
  (core/in-range (- x (* (- n 1) s)) w))))
(check-sat)
