; claim: Two loops n1:s1, n2:s2 with s1 = n2 s2 are the one loop n1 n2 : s2, for all counts and strides: the merged
;   counter c1 n2 + c2 is in range and has the same address. The same holds of any weighted sum of the two counters:
;   coordinates, guards.
; relied on by: dmaverify.prove.move.units.compare
; relied on by: dmaverify.program.command.in_step
; relied on by: dmaverify.layout.digits.coalesce
; quotes: encodings/core/mapping.smt2#core/in-range
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/sequencer.smt2#core/loop-step
; quotes: encodings/core/sequencer.smt2#core/nest-address
; quotes: encodings/core/sequencer.smt2#core/contiguous
; tamper: (= outer_stride (* inner_count inner_stride)) ==> (= outer_stride (+ (* inner_count inner_stride) 1))
; tamper: (assert (core/contiguous s1 n2 s2)) ==> (assert true)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/in-range ((digit Int) (slots Int)) Bool
  (and (<= 0 digit) (< digit slots)))
(define-fun core/join ((major Int) (size Int) (minor Int)) Int
  (+ (* major size) minor))
(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))
(define-fun core/nest-address ((base Int) (outer Int) (outer_stride Int) (inner Int) (inner_stride Int)) Int
  (core/loop-step (core/loop-step base outer outer_stride) inner inner_stride))
(define-fun core/contiguous ((outer_stride Int) (inner_count Int) (inner_stride Int)) Bool
  (= outer_stride (* inner_count inner_stride)))

(declare-const base Int)
(declare-const n1 Int)
(declare-const s1 Int)
(declare-const n2 Int)
(declare-const s2 Int)
(declare-const c1 Int)
(declare-const c2 Int)
(assert (core/contiguous s1 n2 s2))
(assert (core/in-range c1 n1))
(assert (core/in-range c2 n2))
(assert (not (and
  (core/in-range (core/join c1 n2 c2) (* n1 n2))
  (= (core/nest-address base c1 s1 c2 s2) (core/loop-step base (core/join c1 n2 c2) s2)))))
(check-sat)
