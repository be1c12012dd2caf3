; claim: A command whose base moves with its tensor keeps every address at the same distance from the tensor's origin,
;   whatever the counters and strides. So what is proved of the first iteration of a loop around a view, relative to the
;   place of the view, holds in every iteration.
; relied on by: dmaverify.prove.move.views.view_findings
; relied on by: dmaverify.prove.move.indirect.check_indirect
; relied on by: dmaverify.prove.move.part_questions.view_scripts
; quotes: encodings/core/sequencer.smt2#core/loop-step
; quotes: encodings/core/sequencer.smt2#core/nest-address
; tamper: (core/nest-address (+ base shift) outer ==> (core/nest-address base outer
; tamper: (+ origin shift)) ==> (+ origin (+ shift 1)))
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun core/loop-step ((address Int) (counter Int) (stride Int)) Int
  (+ address (* counter stride)))
(define-fun core/nest-address ((base Int) (outer Int) (outer_stride Int) (inner Int) (inner_stride Int)) Int
  (core/loop-step (core/loop-step base outer outer_stride) inner inner_stride))

(declare-const base Int)
(declare-const origin Int)
(declare-const shift Int)
(declare-const outer Int)
(declare-const outer_stride Int)
(declare-const inner Int)
(declare-const inner_stride Int)
(assert (not (=
  (- (core/nest-address (+ base shift) outer outer_stride inner inner_stride) (+ origin shift))
  (- (core/nest-address base outer outer_stride inner inner_stride) origin))))
(check-sat)
