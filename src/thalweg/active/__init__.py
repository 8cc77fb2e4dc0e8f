"""Labels on a budget: strategies that say which labels are worth asking for, and the learner that asks for them."""
