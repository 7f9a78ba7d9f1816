from crewai import Agent, Crew, Task
from langchain_openai import ChatOpenAI

llm = ChatOpenAI(model_name="gpt-3.5-turbo", temperature=0.7)
agent = Agent(role="Clerk", goal="Know the tides", backstory="Ten years in", llm=llm)
bound = Agent(role="Second clerk", goal="Know the tides", backstory="Ten years in", llm=llm.bind(stop=["END"]))
first = Task(description="When is high water?", expected_output="A time", agent=agent)
second = Task(description="Check it", expected_output="A time", agent=bound)
crew = Crew(agents=[agent, bound], tasks=[first, second], function_calling_llm=llm, manager_llm=llm)
print([output.raw for output in crew.kickoff().tasks_output])

# > ['high water at noon', 'high water at noon']
#! manager_llm
