; claim: Every stride: programming a pitch and reading it back gives the pitch, the other way round too, and both ways
;   agree on what the dimension has moved in the end.
; relied on by: dmaverify.machines.idma.nd.relative
; relied on by: dmaverify.machines.idma.nd.absolute
; quotes: encodings/idma/bursts.smt2#idma/pitch
; quotes: encodings/idma/bursts.smt2#idma/programmed
; quotes: encodings/idma/bursts.smt2#idma/moved
; tamper: (idma/pitch (idma/programmed p moved) moved) p) ==> (idma/pitch (idma/programmed p moved) moved) s)
(set-logic QF_NIA)
(set-info :status unsat)

(define-fun idma/pitch ((programmed Int) (moved Int)) Int
  (+ programmed moved))
(define-fun idma/programmed ((pitch Int) (moved Int)) Int
  (- pitch moved))
(define-fun idma/moved ((inner Int) (reps Int) (pitch Int)) Int
  (+ inner (* (- reps 1) pitch)))

(declare-const p Int)
(declare-const s Int)
(declare-const moved Int)
(declare-const reps Int)
(assert (<= 1 reps))
(assert (not (and
  (= (idma/pitch (idma/programmed p moved) moved) p)
  (= (idma/programmed (idma/pitch s moved) moved) s)
  (= (idma/moved moved reps (idma/pitch s moved)) (+ moved (* reps (idma/pitch s moved)) (- 0 s moved))))))
(check-sat)
