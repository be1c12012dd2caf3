; claim: The converse: if the nest n1:s1, n2:s2 with n1 >= 2, n2 >= 1 and the loop n1 n2 : s have the same address at
;   the counters (1, 0) of the nest, and at (0, 1) when n2 >= 2, then s1 = n2 s, and s = s2 when n2 >= 2. So nothing
;   else may be merged.
; relied on by: dmaverify.program.command.in_step
; relied on by: dmaverify.layout.digits.coalesce
; quotes: encodings/core/mapping.smt2#core/join
; quotes: encodings/core/sequencer.smt2#core/loop-step
; quotes: encodings/core/sequencer.smt2#core/nest-address
; quotes: encodings/core/sequencer.smt2#core/contiguous
; tamper: (=> (<= 2 n2) (= s s2)) ==> (= s s2)
(set-logic QF_NIA)
(set-info :status unsat)

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
(declare-const s Int)
(assert (<= 2 n1))
(assert (<= 1 n2))
(assert (= (core/nest-address base 1 s1 0 s2) (core/loop-step base (core/join 1 n2 0) s)))
(assert (=> (<= 2 n2) (= (core/nest-address base 0 s1 1 s2) (core/loop-step base (core/join 0 n2 1) s))))
(assert (not (and (core/contiguous s1 n2 s) (=> (<= 2 n2) (= s s2)))))
(check-sat)
