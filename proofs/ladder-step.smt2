; claim: Injectivity ladder, any stride: if the inner loops stay within [0, w) and a loop has stride s >= w, then equal
;   addresses have equal counters of this loop and equal inner offsets. So strides that climb like a ladder never write
;   a byte twice (sufficient, not necessary), and an address has one digit per step even where steps leave gaps.
; relied on by: dmaverify.prove.move.units.compare
; relied on by: dmaverify.prove.move.obligations.once_claim
; relied on by: dmaverify.prove.move.obligations.nest_claims
; relied on by: dmaverify.layout.refine.drive
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/sequencer.smt2#core/loop-step
; tamper: (<= w s) ==> (<= w (+ s 1))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))

(declare-const w Int)
(declare-const s Int)
(declare-const c Int)
(declare-const c2 Int)
(declare-const inner Int)
(declare-const inner2 Int)
(assert (core/in-range inner w))
(assert (core/in-range inner2 w))
(assert (<= w s))
(assert (= (core/loop-step inner c s) (core/loop-step inner2 c2 s)))
(assert (not (and (= c c2) (= inner inner2))))
(check-sat)
