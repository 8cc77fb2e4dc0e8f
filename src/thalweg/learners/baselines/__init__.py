"""What every learner must beat: the majority, no change, naive Bayes; and a vote of any learners."""
